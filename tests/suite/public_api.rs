//! The public items of the crate equal the listing in `tests/public-api.txt`. Each of them has an
//! example or a link to one.
//!
//! Both tests parse the sources. `#![deny(unreachable_pub)]` ensures that every `pub` item is
//! public.

use proc_macro2::Span;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use syn::spanned::Spanned;
use syn::{
    Attribute, Expr, ExprLit, Fields, Ident, ImplItem, Item, Lit, Meta, TraitItem, Type, UseTree,
    Visibility,
};

const LISTING: &str = "public-api.txt";

/// `ACCEPT_PUBLIC_API=1 cargo test --test suite public_api` writes the listing.
#[test]
fn public_items_equal_the_listing() {
    let found = Api::of_the_crate().listing();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(LISTING);
    if std::env::var_os("ACCEPT_PUBLIC_API").is_some() {
        std::fs::write(&path, &found).unwrap();
    }
    let listed = std::fs::read_to_string(&path).unwrap_or_default();
    let differences = |these: &str, others: &str, sign| {
        let others: BTreeSet<_> = others.lines().collect();
        let only_here = these.lines().filter(|line| !others.contains(line));
        only_here
            .map(|line| format!("{sign} {line}\n"))
            .collect::<String>()
    };
    assert!(
        found == listed,
        "the public API differs from {LISTING}:\n{}{}\
         to accept it: ACCEPT_PUBLIC_API=1 cargo test --test suite public_api",
        differences(&listed, &found, '-'),
        differences(&found, &listed, '+'),
    );
}

#[test]
fn every_item_has_an_example_or_a_link_to_one() {
    let api = Api::of_the_crate();
    assert!(api.documented.len() > 150, "{}", api.documented.len());
    let with_example: BTreeSet<&str> = api
        .documented
        .iter()
        .filter(|item| has_example(&item.docs))
        .map(|item| &*item.name)
        .collect();
    let mut without = Vec::new();
    for item in &api.documented {
        let own = has_example(&item.docs);
        let linked = links(&item.docs).any(|target| with_example.contains(target));
        let shown = item.variant_of.as_ref().is_some_and(|parent| {
            let variant = format!("{parent}::{}", item.name);
            let parents = |other: &&Documented| other.name == *parent;
            let parent = api.documented.iter().find(parents);
            parent.is_some_and(|parent| parent.docs.contains(&variant))
        });
        if !(own || linked || shown) {
            without.push(match &item.variant_of {
                Some(parent) => format!("{parent}::{}", item.name),
                None => item.name.clone(),
            });
        }
    }
    assert!(
        without.is_empty(),
        "items without an example or a link to one: {without:#?}"
    );
}

/// Whether the docs contain a block of Rust code.
fn has_example(docs: &str) -> bool {
    let fences = docs
        .lines()
        .filter_map(|line| line.trim().strip_prefix("```"));
    fences.step_by(2).any(|language| language != "text")
}

/// The last path segments of all links: `gradient` for `[..](BroadcastPlan::gradient#errors)` and
/// for `` [`gradient`] ``.
fn links(docs: &str) -> impl Iterator<Item = &str> {
    let inline = docs
        .split("](")
        .skip(1)
        .filter_map(|rest| rest.split(')').next());
    let short = docs
        .split("[`")
        .skip(1)
        .filter_map(|rest| rest.split("`]").next());
    inline.chain(short).map(|target| {
        let item = target.split('#').next().unwrap_or(target);
        item.rsplit("::").next().unwrap_or(item)
    })
}

/// An item and its documentation.
struct Documented {
    name: String,
    docs: String,
    variant_of: Option<String>,
}

/// The lines of one name in the listing.
#[derive(Default)]
struct Entry {
    header: String,
    /// Variants and fields. Their order is part of the API.
    in_order: Vec<String>,
    sorted: BTreeSet<String>,
}

#[derive(Default)]
struct Api {
    entries: BTreeMap<String, Entry>,
    documented: Vec<Documented>,
    /// The public path of each type and trait, such as `openvino::Mode`. `None`: it is private.
    types: BTreeMap<String, Option<String>>,
}

/// The module that contains an item.
struct Place {
    /// The path that users write, with a trailing `::`.
    path: String,
    /// Whether users can access the module.
    public: bool,
    /// The `#[cfg(..)]` of the module.
    condition: String,
}

impl Place {
    fn inside(&self, module: &syn::ItemMod) -> Self {
        Place {
            path: format!("{}{}::", self.path, module.ident),
            public: self.public && is_public(&module.vis),
            condition: format!("{}{}", self.condition, attributes(&module.attrs)),
        }
    }
}

impl Api {
    fn of_the_crate() -> Self {
        let crate_root = Place {
            path: String::new(),
            public: true,
            condition: String::new(),
        };
        let lib = parse(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../src/lib.rs"));
        let mut api = Api::default();
        api.types(&crate_root, &lib.items);
        api.items(&crate_root, &lib.items);
        api
    }

    /// Collects all type names. Whether an implementation is public depends on them.
    fn types(&mut self, place: &Place, items: &[Item]) {
        for item in items {
            let (name, visibility) = match item {
                Item::Struct(item) => (&item.ident, &item.vis),
                Item::Enum(item) => (&item.ident, &item.vis),
                Item::Trait(item) => (&item.ident, &item.vis),
                Item::Mod(module) => {
                    if let Some((_, items)) = &module.content {
                        self.types(&place.inside(module), items);
                    }
                    continue;
                }
                _ => continue,
            };
            let public = place.public && is_public(visibility);
            let path = self.types.entry(name.to_string()).or_default();
            if public {
                *path = Some(format!("{}{name}", place.path));
            }
        }
    }

    fn items(&mut self, place: &Place, items: &[Item]) {
        for item in items {
            match item {
                Item::Impl(item) => self.implementation(place, item),
                Item::Mod(module) => self.module(place, module),
                _ if !place.public => {}
                Item::Const(item) if is_public(&item.vis) => {
                    let header = text(item.const_token.span, item.ty.span());
                    self.item(place, &item.ident, &item.attrs, &header);
                }
                Item::Type(item) if is_public(&item.vis) => {
                    let header = text(item.type_token.span, item.ty.span());
                    self.item(place, &item.ident, &item.attrs, &header);
                }
                Item::Fn(item) if is_public(&item.vis) => {
                    let header = text(item.sig.span(), item.sig.span());
                    self.item(place, &item.sig.ident, &item.attrs, &header);
                }
                Item::Use(item) if is_public(&item.vis) => {
                    let names = &mut self.entry(&format!("{}use", place.path)).sorted;
                    re_exported(&item.tree, names);
                }
                // The only macro that defines public items.
                Item::Macro(item) if item.mac.path.is_ident("shape_integer") => {
                    let call = text(item.mac.span(), item.mac.span());
                    self.entry("ShapeInteger").sorted.insert(call);
                }
                Item::Struct(item) if is_public(&item.vis) => {
                    let header = format!("struct {}{}", item.ident, generics(&item.generics));
                    let entry = self.item(place, &item.ident, &item.attrs, &header);
                    entry.in_order.extend(fields(&item.fields, is_public));
                }
                Item::Enum(item) if is_public(&item.vis) => {
                    let header = format!("enum {}{}", item.ident, generics(&item.generics));
                    self.item(place, &item.ident, &item.attrs, &header);
                    for variant in &item.variants {
                        self.docs(&variant.ident, &variant.attrs, Some(&item.ident));
                        let fields: Vec<_> = fields(&variant.fields, |_| true).collect();
                        let mut line = format!("{}{}", attributes(&variant.attrs), variant.ident);
                        if !fields.is_empty() {
                            line += &format!(" {{ {} }}", fields.join(", "));
                        }
                        self.entry(&format!("{}{}", place.path, item.ident))
                            .in_order
                            .push(line);
                    }
                }
                Item::Trait(item) if is_public(&item.vis) => {
                    let mut header = format!("trait {}{}", item.ident, generics(&item.generics));
                    if let (Some(colon), Some(last)) = (&item.colon_token, item.supertraits.last())
                    {
                        header += &text(colon.span, last.span());
                    }
                    self.item(place, &item.ident, &item.attrs, &header);
                    for member in &item.items {
                        let (line, attributes) = match member {
                            TraitItem::Fn(f) => {
                                let body = if f.default.is_some() { " {..}" } else { ";" };
                                (text(f.sig.span(), f.sig.span()) + body, &f.attrs)
                            }
                            TraitItem::Type(t) => {
                                (text(t.type_token.span, t.semi_token.span), &t.attrs)
                            }
                            _ => continue,
                        };
                        let hidden = has(attributes, "doc", "doc(hidden)");
                        let line = if hidden { "#[doc(hidden)] " } else { "" }.to_string() + &line;
                        let entry = self.entry(&format!("{}{}", place.path, item.ident));
                        entry.sorted.insert(line);
                        match member {
                            TraitItem::Fn(f) if !hidden => {
                                self.docs(&f.sig.ident, attributes, None)
                            }
                            _ => {}
                        }
                    }
                }
                _ => {}
            }
        }
    }

    fn module(&mut self, place: &Place, module: &syn::ItemMod) {
        let inside = place.inside(module);
        if inside.public {
            self.entry(&format!("{}{}", place.path, module.ident))
                .header = format!("{}mod {}", attributes(&module.attrs), module.ident);
            self.docs(&module.ident, &module.attrs, None);
        }
        if let Some((_, items)) = &module.content {
            self.items(&inside, items);
        }
    }

    /// Lists the public methods of public types, and implementations in which the type or the trait
    /// is public.
    fn implementation(&mut self, place: &Place, item: &syn::ItemImpl) {
        let mut header = place.condition.clone() + &text(item.impl_token.span, item.self_ty.span());
        if let Some(clause) = &item.generics.where_clause {
            header = format!("{header} {}", text(clause.span(), clause.span()));
        }
        let self_type = last_name(&item.self_ty);
        let public = |name: &str| self.types.get(name).cloned().flatten();
        let Some((_, path, _)) = &item.trait_ else {
            let Some(key) = public(&self_type) else {
                return;
            };
            for member in &item.items {
                let ImplItem::Fn(f) = member else { continue };
                if is_public(&f.vis) {
                    self.docs(&f.sig.ident, &f.attrs, None);
                    let signature = text(f.sig.span(), f.sig.span());
                    let line = format!("{header} :: {}{signature}", attributes(&f.attrs));
                    self.entry(&key).sorted.insert(line);
                }
            }
            return;
        };
        let mentioned = text(path.span(), path.span());
        let is_private = |name: &str| self.types.get(name) == Some(&None);
        let trait_name = path.segments.last().map(|last| last.ident.to_string());
        let private_argument = mentioned
            .split(|c: char| !c.is_alphanumeric() && c != '_')
            .any(is_private);
        if private_argument || is_private(&self_type) {
            return;
        }
        let trait_name = trait_name.unwrap_or_default();
        if let Some(key) = public(&self_type).or_else(|| public(&trait_name)) {
            self.entry(&key).sorted.insert(header);
        }
    }

    fn item(
        &mut self,
        place: &Place,
        name: &Ident,
        attrs: &[Attribute],
        header: &str,
    ) -> &mut Entry {
        self.docs(name, attrs, None);
        let entry = self.entry(&format!("{}{name}", place.path));
        entry.header = format!("{}{header}", attributes(attrs));
        entry
    }

    fn entry(&mut self, name: &str) -> &mut Entry {
        self.entries.entry(name.to_string()).or_default()
    }

    fn docs(&mut self, name: &Ident, attributes: &[Attribute], variant_of: Option<&Ident>) {
        let mut docs = String::new();
        for attribute in attributes {
            let Meta::NameValue(meta) = &attribute.meta else {
                continue;
            };
            let Expr::Lit(ExprLit {
                lit: Lit::Str(line),
                ..
            }) = &meta.value
            else {
                continue;
            };
            if meta.path.is_ident("doc") {
                docs += &line.value();
                docs.push('\n');
            }
        }
        self.documented.push(Documented {
            name: name.to_string(),
            docs,
            variant_of: variant_of.map(Ident::to_string),
        });
    }

    fn listing(&self) -> String {
        let mut listing = String::new();
        for (name, entry) in &self.entries {
            listing += &format!("\n{name}\n");
            let header = Some(&entry.header).filter(|header| !header.is_empty());
            for line in header
                .into_iter()
                .chain(&entry.in_order)
                .chain(&entry.sorted)
            {
                listing += &format!("    {line}\n");
            }
        }
        listing.trim_start().to_string()
    }
}

/// Parses a file and its modules. The items of a private module replace the module, because they
/// are re-exported from its parent.
fn parse(file: &Path) -> syn::File {
    let broken = |why: &dyn std::fmt::Display| -> ! { panic!("{}: {why}", file.display()) };
    let source = std::fs::read_to_string(file).unwrap_or_else(|e| broken(&e));
    let mut parsed = syn::parse_file(&source).unwrap_or_else(|e| broken(&e));
    let folder = match file.file_name().and_then(|name| name.to_str()) {
        Some("lib.rs" | "mod.rs") => file.with_file_name(""),
        _ => file.with_extension(""),
    };
    let mut items = Vec::new();
    for item in parsed.items {
        match item {
            Item::Mod(module) if has(&module.attrs, "cfg", "cfg(test)") => {}
            Item::Mod(mut module) if module.content.is_none() => {
                let flat = folder.join(format!("{}.rs", module.ident));
                let nested = folder.join(format!("{}/mod.rs", module.ident));
                let inner = parse(if flat.exists() { &flat } else { &nested });
                if is_public(&module.vis) {
                    module.attrs.extend(inner.attrs);
                    module.content = Some((Default::default(), inner.items));
                    items.push(Item::Mod(module));
                } else {
                    items.extend(inner.items);
                }
            }
            item => items.push(item),
        }
    }
    parsed.items = items;
    parsed
}

fn is_public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

fn has(attributes: &[Attribute], name: &str, whole: &str) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident(name)
            && text(attribute.meta.span(), attribute.meta.span()) == whole
    })
}

/// The attributes that matter to users, each followed by a space.
fn attributes(attributes: &[Attribute]) -> String {
    let noticed = ["cfg", "cfg_attr", "derive", "must_use", "non_exhaustive"];
    let shown = attributes
        .iter()
        .filter(|attribute| noticed.iter().any(|name| attribute.path().is_ident(name)));
    shown
        .map(|attribute| text(attribute.span(), attribute.span()) + " ")
        .collect()
}

fn fields(fields: &Fields, shown: impl Fn(&Visibility) -> bool) -> impl Iterator<Item = String> {
    fields
        .iter()
        .filter(move |field| shown(&field.vis))
        .map(|field| {
            let name = field
                .ident
                .as_ref()
                .map_or_else(String::new, |name| format!("{name}: "));
            name + &text(field.ty.span(), field.ty.span())
        })
}

fn generics(generics: &syn::Generics) -> String {
    match (&generics.lt_token, &generics.gt_token) {
        (Some(open), Some(close)) => text(open.span, close.span),
        _ => String::new(),
    }
}

/// The name of a type, without references and generics.
fn last_name(of: &Type) -> String {
    match of {
        Type::Path(path) => path
            .path
            .segments
            .last()
            .map(|last| last.ident.to_string())
            .unwrap_or_default(),
        Type::Reference(reference) => last_name(&reference.elem),
        _ => String::new(),
    }
}

/// Collects the names that a `pub use` exports.
fn re_exported(tree: &UseTree, names: &mut BTreeSet<String>) {
    match tree {
        UseTree::Path(path) => re_exported(&path.tree, names),
        UseTree::Group(group) => group.items.iter().for_each(|tree| re_exported(tree, names)),
        UseTree::Name(name) => drop(names.insert(name.ident.to_string())),
        UseTree::Rename(_) | UseTree::Glob(_) => {
            names.insert(text(tree.span(), tree.span()));
        }
    }
}

/// The source between two spans, on one line.
fn text(from: Span, to: Span) -> String {
    let source = from
        .join(to)
        .and_then(|span| span.source_text())
        .unwrap_or_default();
    let mut line = source.split_whitespace().collect::<Vec<_>>().join(" ");
    let whole = [
        ("( ", "("),
        (", )", ")"),
        (" )", ")"),
        ("< ", "<"),
        (", >", ">"),
        (" >", ">"),
    ];
    for (broken, whole) in whole {
        line = line.replace(broken, whole);
    }
    with_error(line.trim_end_matches([',', ';']))
}

/// The line with the error of each `Result<T>`, which the crate's own alias of `Result` leaves out.
/// Users do not see the alias, as it is private.
fn with_error(line: &str) -> String {
    const RESULT: &str = "Result<";
    let Some((before, rest)) = line.split_once(RESULT) else {
        return line.to_string();
    };
    let (mut depth, mut has_error, mut previous) = (0, false, ' ');
    let end = rest.find(|character| {
        match character {
            '<' | '(' | '[' => depth += 1,
            '>' if previous == '-' => {}
            '>' | ')' | ']' => depth -= 1,
            ',' => has_error |= depth == 0,
            _ => {}
        }
        previous = character;
        depth < 0
    });
    let (arguments, after) = rest.split_at(end.unwrap_or(rest.len()));
    let (arguments, after) = (with_error(arguments), with_error(after));
    let error = if has_error { "" } else { ", BroadcastError" };
    format!("{before}{RESULT}{arguments}{error}{after}")
}
