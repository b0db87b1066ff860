// Runs a program for WASI under node: node wasi.mjs program.wasm [argument]...
import { readFileSync } from 'node:fs';
import { WASI } from 'node:wasi';

const [, , program, ...args] = process.argv;
const wasi = new WASI({
    version: 'preview1',
    args: [program, ...args],
    env: process.env,
    preopens: { '.': '.', '/': '/' },
    returnOnExit: true,
});
const { instance } = await WebAssembly.instantiate(readFileSync(program), {
    wasi_snapshot_preview1: wasi.wasiImport,
});
process.exitCode = wasi.start(instance);
