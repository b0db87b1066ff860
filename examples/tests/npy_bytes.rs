//! `.npy` files as bytes. This code is independent of the examples' own reader and writer.

pub fn tuple(shape: &[usize]) -> String {
    match shape {
        [size] => format!("({size},)"),
        _ => format!("{shape:?}").replace('[', "(").replace(']', ")"),
    }
}

pub fn dict(descr: &str, fortran: bool, shape: &str) -> String {
    let fortran = if fortran { "True" } else { "False" };
    format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}")
}

pub fn npy(version: u8, header: &str, data: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0x93, b'N', b'U', b'M', b'P', b'Y', version, 0];
    match version {
        1 => bytes.extend((header.len() as u16).to_le_bytes()),
        _ => bytes.extend((header.len() as u32).to_le_bytes()),
    }
    [&bytes, header.as_bytes(), data].concat()
}

/// A file of 0, 1, 2, ... as `i32`.
pub fn counting(shape: &[usize]) -> Vec<u8> {
    let data: Vec<u8> = (0..shape.iter().product::<usize>() as i32)
        .flat_map(i32::to_le_bytes)
        .collect();
    npy(1, &dict("<i4", false, &tuple(shape)), &data)
}

/// The element bytes of a file that an example wrote. Asserts NumPy's header.
#[track_caller]
pub fn elements<'a>(file: &'a [u8], descr: &str, shape: &[usize]) -> &'a [u8] {
    let rest = file
        .strip_prefix(b"\x93NUMPY\x01\x00")
        .expect("a .npy file of version 1.0");
    let length = usize::from(u16::from_le_bytes([rest[0], rest[1]]));
    let (header, data) = rest[2..].split_at(length);
    assert_eq!((10 + length) % 64, 0);
    let header = std::str::from_utf8(header)
        .unwrap()
        .strip_suffix('\n')
        .unwrap();
    assert_eq!(
        header.trim_end_matches(' '),
        dict(descr, false, &tuple(shape))
    );
    data
}

/// Every index of a shape, in row-major order.
pub fn indices(shape: &[usize]) -> Vec<Vec<usize>> {
    let longer = |indices: Vec<Vec<usize>>, &size: &usize| {
        let each = |index: Vec<usize>| (0..size).map(move |i| [&index[..], &[i]].concat());
        indices.into_iter().flat_map(each).collect()
    };
    shape.iter().fold(vec![vec![]], longer)
}
