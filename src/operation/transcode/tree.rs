//! SOURCE as the nodes that are written: a single array, or a group with everything below it.
//!
//! Images in several resolutions: arrays that the attribute `multiscales` of a group names (OME-Zarr, `GeoZarr`).
//!
//! Options for the arrays of a hierarchy, and the choice of arrays (`--only`).

use std::collections::HashSet;

use super::format::{self, as_source};
use super::plan::change::{self, group_of, name_containers};
use super::plan::regrid::Names;
use super::{SourceArray, repack};
use crate::diagnostic::{Diagnostic, Profile, Severity, code, quantity::counted};
use crate::element::NumberType;
use crate::engine::Driver;
use crate::grid::Region;
use crate::metadata::{Json, NodeKind, Object, edit};
use crate::operation::hierarchy::{HierarchyNode, NodeContent, check_name, read_from};
use crate::operation::open::{open_documents, opened, refusal};
use crate::operation::{
    ArrayReading, ChangeOptions, Documents, GroupReading, NodePath, OpenedArray, OperationError, PathPattern, Predict,
    QuantizeForm, QuantizeOptions, Result, ShapeRequest, ShardRequest, TranscodeOptions, cf, cf::named, options::Slice,
    stored,
};
use crate::store::{FolderListing, Node};

/// Maximum number of errors in a message.
const MOST_ERRORS: usize = 10;

pub(super) struct Source {
    /// The root.
    pub node: Node,
    /// Key of the document that makes it a node.
    pub document_key: &'static str,
    /// Its arrays, sorted by path. For a single array: the array itself.
    pub arrays: Vec<SourceArray>,
    /// Its groups, the root first.
    pub groups: Vec<GroupReading>,
    /// Copies the keys that belong to no node.
    pub other_keys: Vec<String>,
    /// Arrays that are not quantised or rounded, because other arrays need their exact values.
    pub spared: Vec<String>,
    pub warnings: Vec<Diagnostic>,
}

impl Source {
    /// Reads the selected part of SOURCE. `given` sets what is resolved already in its arrays.
    pub(super) fn taken(
        options: &TranscodeOptions,
        given: impl FnOnce(&mut Source) -> Result<()>,
        driver: &Driver,
    ) -> Result<Self> {
        let mut source = Self::open(options, driver)?;
        // It may replace the options of the arrays, and with them the selection that is taken next.
        given(&mut source)?;
        source.arrays.iter_mut().try_for_each(take)?;
        Ok(source)
    }

    /// Reads SOURCE. Fails if its metadata contain an error anywhere.
    pub(super) fn open(options: &TranscodeOptions, driver: &Driver) -> Result<Self> {
        let node_path = NodePath::new(&options.source, None)?;
        let node = node_path.node(&options.source)?;
        let documents = open_documents(&node, &node_path.name())?;
        let document_key = documents.key;
        if documents.kind == NodeKind::Group {
            return Self::open_group(options, node, documents, driver);
        }
        check_patterns(options, &[""])?;
        let mut reading = ArrayReading::new(node_path, node.clone(), documents);
        tell_of_array_members(options, &mut reading);
        let opened = as_source(opened(profile(options, ""), reading)?);
        let mut change = options.change.clone();
        // The pattern of each rule matches the single array.
        options.rules.iter().for_each(|rule| change.override_by(&rule.change));
        let arrays = vec![SourceArray::new("/".to_owned(), opened, change)];
        let (groups, other_keys, spared, warnings) = Default::default();
        Ok(Source { node, document_key, arrays, groups, other_keys, spared, warnings })
    }

    fn open_group(options: &TranscodeOptions, node: Node, documents: Documents, driver: &Driver) -> Result<Self> {
        let store = options.source.display().to_string();
        let document_key = documents.key;
        let start = NodePath::new(&options.source, None)?;
        // DEST would lack what is below a folder that cannot be read.
        let nodes = read_from(&start, options.source.node(), Some(documents), driver).complete()?;
        let (mut errors, mut warnings) = (Vec::new(), Vec::new());
        let (mut readings, mut groups, mut rest) = (Vec::new(), Vec::new(), FolderListing::default());
        for mut node in nodes {
            judge_node(options, &mut node, &store);
            let (bad, good): (Vec<_>, Vec<_>) = node.document_diagnostics().cloned().partition(Diagnostic::is_error);
            errors.extend(bad);
            // Warnings about an array are reported with its plan.
            let of_array = node.array().map_or(&[][..], |array| &array.diagnostics);
            let is_said = |found: &Diagnostic| of_array.contains(found);
            warnings.extend(good.into_iter().filter(|found| found.severity == Severity::Warning && !is_said(found)));
            collect_keys(&options.source.node(), node.rest, &mut rest)?;
            match node.content {
                NodeContent::Array(array) => readings.push(*array),
                NodeContent::Group(group) => groups.push(*group),
                NodeContent::Implicit | NodeContent::Broken => {}
            }
        }
        // All nodes are judged before any is opened, so that the message has the errors of all.
        if !errors.is_empty() {
            let first = errors[0].location.node.clone().unwrap_or_default();
            errors.truncate(MOST_ERRORS);
            let at = if first == "/" { store.clone() } else { format!("{}{first}", store.trim_end_matches('/')) };
            return Err(refusal(&format!("the metadata of `{at}` has errors"), &errors));
        }
        let FolderListing { files: mut other_keys, folders: runs, links, unnamed, .. } = rest;
        warnings.extend(uncopied_run(&store, &runs));
        warnings.extend(uncopied_links(&store, &links));
        warnings.extend(stored::not_keys(&unnamed).map(|found| found.in_store(store.as_str())));
        let to_be_written = |reading: ArrayReading| {
            Ok(SourceArray::new(
                reading.node_path.path.clone(),
                as_source(reading.into_array()?),
                ChangeOptions::default(),
            ))
        };
        let mut arrays: Vec<SourceArray> = readings.into_iter().map(to_be_written).collect::<Result<_>>()?;
        if !options.only.is_empty() {
            let kept = kept(&options.only, &arrays);
            arrays.retain(|array| kept.contains(&array.path));
            groups.retain(|group| kept.contains(&group.node_path.path));
            other_keys.clear();
            warnings.extend(left_out(&arrays, &groups).into_iter().map(|found| found.in_store(store.as_str())));
        }
        check_patterns(options, &arrays.iter().map(|array| array.path.as_str()).collect::<Vec<_>>())?;
        let coordinates = coordinates(&arrays, &groups);
        let mut spared = Vec::new();
        for array in &mut arrays {
            if set_change(options, array, &coordinates) {
                spared.push(array.path.clone());
            }
        }
        // Both depend on the changes of the arrays, so these are set first.
        name_points(&mut arrays);
        name_containers(&mut arrays, &groups);
        check_applied(options, &arrays, &spared)?;
        check_levels(&arrays, &groups)?;
        other_keys.sort_unstable();
        Ok(Source { node, document_key, arrays, groups, other_keys, spared, warnings })
    }
}

/// Adds findings about what DEST does not keep of a node, or reserves, and decides which findings are errors.
fn judge_node(options: &TranscodeOptions, node: &mut HierarchyNode, store: &str) {
    let leaves_v2 = options.change.zarr_format == Some(3) && node.content.zarr_format() == Some(2);
    match &mut node.content {
        NodeContent::Array(array) => tell_of_array_members(options, array),
        NodeContent::Group(group) if leaves_v2 => {
            let GroupReading { node_path, documents, attributes, diagnostics, .. } = &mut **group;
            format::tell_of_members(node_path, documents, attributes, diagnostics);
            let mut old = format::tell_of_ome(attributes);
            node_path.locate(old.as_mut_slice(), ".zattrs");
            diagnostics.extend(old);
        }
        NodeContent::Group(_) | NodeContent::Implicit | NodeContent::Broken => {}
    }
    if leaves_v2 {
        let found = check_name(&node.node_path, Some(3));
        let reserved = found.filter(|_| check_name(&node.node_path, Some(2)).is_none());
        node.diagnostics.extend(reserved.map(|found| {
            let found = found.with_help("v3 reserves such names: some readers may refuse the node");
            found.in_store(store).at_node(node.node_path.path.as_str())
        }));
    }
    profile(options, &node.node_path.path).judge(node.document_diagnostics_mut());
    forgive_copies(node.document_diagnostics_mut(), options.no_consolidate);
}

/// Returns the profile under which a node of SOURCE is read.
fn profile(options: &TranscodeOptions, path: &str) -> Profile {
    let mut rules = options.rules.iter().filter(|rule| rule.pattern.matches(path));
    let accepts = options.change.no_fill_check || rules.any(|rule| rule.change.no_fill_check);
    if accepts { Profile::AnyFillValue } else { Profile::Read }
}

fn tell_of_array_members(options: &TranscodeOptions, array: &mut ArrayReading) {
    if options.change.zarr_format == Some(3) && array.documents.zarr_format == 2 {
        let attributes = array.members.attributes.clone().unwrap_or_default();
        format::tell_of_members(&array.node_path, &array.documents, &attributes, &mut array.diagnostics);
    }
}

/// Sets empty dimension names for v3 arrays without dimensions, as xarray needs them in v2. It needs an array in the
/// same group that has dimension names. Others were not written by xarray (SEMANTICS D14).
pub(super) fn name_points(arrays: &mut [SourceArray]) {
    let is_named = |array: &&SourceArray| {
        let names = array.opened.metadata.dimension_names.as_deref().unwrap_or_default();
        !names.is_empty() && names.iter().all(Option::is_some)
    };
    let groups = arrays.iter().filter(is_named).map(|array| group_of(&array.path).to_owned());
    let named: HashSet<String> = groups.collect();
    for array in arrays {
        let metadata = &mut array.opened.metadata;
        if array.opened.documents.zarr_format == 3
            && metadata.shape.is_empty()
            && metadata.dimension_names.is_none()
            && array.change.zarr_format == Some(2)
            && named.contains(group_of(&array.path))
        {
            metadata.dimension_names = Some(Vec::new());
            edit::set_member(&mut array.opened.documents.document, "dimension_names", Json::Array(Vec::new()));
        }
    }
}

/// Sets the help of errors in copies of consolidated metadata: the copies are written again, or left out.
fn forgive_copies<'a>(found: impl Iterator<Item = &'a mut Diagnostic>, are_left_out: bool) {
    let help = if are_left_out {
        "`--no-consolidate` leaves the copies out of DEST"
    } else {
        "DEST gets new copies; `--no-consolidate` leaves them out"
    };
    for found in found.filter(|found| found.is_error() && !Profile::Source.forbids(found)) {
        found.help = Some(help.to_owned());
        Profile::Source.judge([found]);
    }
}

fn coordinates(arrays: &[SourceArray], groups: &[GroupReading]) -> HashSet<String> {
    let of_arrays = arrays.iter().map(|array| (&*array.path, &array.opened.metadata));
    let of_arrays = of_arrays.map(|(path, metadata)| (path, Some(metadata), &metadata.attributes));
    let of_groups = groups.iter().map(|group| (group.node_path.path.as_str(), None, &group.attributes));
    cf::coordinates(&of_arrays.chain(of_groups).collect::<Vec<_>>())
}

/// Adds keys that belong to no node: of a listing, and of the folders in it. Entries that are not files are listed as
/// links. Folders of runs are listed as folders: a copy of one would be a second run.
fn collect_keys(root: &Node, mut listing: FolderListing, all: &mut FolderListing) -> Result<()> {
    let mut folders = Vec::new();
    listing.folders.reverse();
    loop {
        all.folders.extend(listing.folders.extract_if(.., |key| is_run_folder(key)));
        folders.append(&mut listing.folders);
        all.files.append(&mut listing.files);
        all.links.append(&mut listing.links);
        all.links.extend(listing.others.into_iter().map(|(key, _)| key));
        all.unnamed.append(&mut listing.unnamed);
        let Some(folder) = folders.pop() else { return Ok(()) };
        let failed = || OperationError::environment(format!("`{folder}` of SOURCE cannot be listed"));
        listing = root.list(&folder).map_err(|error| failed().because(error))?;
    }
}

/// Returns whether a folder is that of a run: `.zarrcast`, or `.NAME.zarrcast` next to a hierarchy.
fn is_run_folder(key: &str) -> bool {
    key.rsplit('/').next().is_some_and(|name| name.starts_with('.') && name.ends_with(".zarrcast"))
}

fn uncopied_run(store: &str, runs: &[String]) -> Option<Diagnostic> {
    let first = runs.first()?;
    let message = format!("`{first}` belongs to an unfinished run, and is not copied");
    let found = Diagnostic::new(code::KEY_TEMPORARY, message).in_store(store).at_key(first.as_str());
    Some(found.with_help("complete the run first, or remove its folder"))
}

/// Links may point anywhere, also out of a store that other people have written.
fn uncopied_links(store: &str, links: &[String]) -> Option<Diagnostic> {
    let first = links.first()?;
    let message = match links.len() {
        1 => format!("`{first}` is a link or not a file, and is not copied"),
        count => format!("{count} links and other things that are not files are not copied, the first `{first}`"),
    };
    let found = Diagnostic::new(code::KEY_UNKNOWN, message).in_store(store).at_key(first.as_str());
    Some(found.with_help("to copy the target of a link, give it as SOURCE"))
}

/// Fails if an option would make the levels of an image inconsistent.
fn check_levels(arrays: &[SourceArray], groups: &[GroupReading]) -> Result<()> {
    let is_cut = |change: &ChangeOptions| !change.select.is_empty();
    let has_own_range = |change: &ChangeOptions| {
        let asked = change.quantize.as_ref().filter(|asked| asked.form == QuantizeForm::Plain);
        asked.is_some_and(QuantizeOptions::finds_range)
    };
    for levels in images(arrays, groups) {
        let is_any = |applies: &dyn Fn(&ChangeOptions) -> bool| levels.iter().any(|level| applies(&level.change));
        let paths: Vec<&str> = levels.iter().map(|level| level.path.trim_start_matches('/')).collect();
        let names = paths.iter().map(|path| format!("`{path}`")).collect::<Vec<_>>().join(", ");
        if is_any(&is_cut) {
            let message = format!("--select: {names} are levels of one image, so their indices differ");
            let help = format!("take one level alone: --only '{}'", paths[0]);
            return Err(OperationError::data(message).with_help(help));
        }
        if is_any(&has_own_range) {
            let message = format!("--as plain: {names} are levels of one image, and each would get its own range");
            return Err(OperationError::data(message)
                .with_help("give --quantize TYPE with --range LO,HI or --scale, the same for all levels"));
        }
    }
    Ok(())
}

/// Returns a warning for each group of which `--only` keeps some levels of an image, but not all.
pub(super) fn left_out(arrays: &[SourceArray], groups: &[GroupReading]) -> Vec<Diagnostic> {
    let warning = |group: &GroupReading| {
        let is_kept = |level: &&str| arrays.iter().any(|array| variable_in(group, level, &array.path).is_some());
        let names = levels(&group.attributes).into_iter().flatten();
        let (kept, lost): (Vec<&str>, Vec<&str>) = names.partition(is_kept);
        let message = format!("`multiscales` names `{}`, but --only leaves it out", lost.join("`, `"));
        let found = Diagnostic::new(code::MULTISCALES_LEVELS_LEFT_OUT, message)
            .with_help("edit `multiscales` in the document of the group in DEST: name only the levels that are left")
            .at_node(&group.node_path.path);
        (!kept.is_empty() && !lost.is_empty()).then_some(found)
    };
    groups.iter().filter_map(warning).collect()
}

/// Returns the arrays of each image that has several levels. A level is an array, or a group with an array for each
/// variable.
fn images<'a>(arrays: &'a [SourceArray], groups: &[GroupReading]) -> Vec<Vec<&'a SourceArray>> {
    let mut images = Vec::new();
    for group in groups {
        for levels in levels(&group.attributes) {
            let mut variables: Vec<(&str, Vec<&SourceArray>)> = Vec::new();
            for array in arrays {
                let variable = levels.iter().find_map(|level| variable_in(group, level, &array.path));
                let Some(variable) = variable else { continue };
                match variables.iter_mut().find(|(known, _)| *known == variable) {
                    Some((_, image)) => image.push(array),
                    None => variables.push((variable, vec![array])),
                }
            }
            images.extend(variables.into_iter().map(|(_, image)| image).filter(|image| image.len() > 1));
        }
    }
    images
}

/// A path below that of a level of a group's image, which is empty for the level itself; `None` where it is not there.
fn variable_in<'a>(group: &GroupReading, level: &str, path: &'a str) -> Option<&'a str> {
    let inside = path.strip_prefix(group.node_path.path.trim_end_matches('/'))?.strip_prefix('/')?;
    inside.strip_prefix(level).filter(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Returns the paths of the levels of each image in the attributes.
fn levels(attributes: &Object) -> Vec<Vec<&str>> {
    let inside = attributes.get("ome").and_then(|ome| ome.get("multiscales"));
    // OME-Zarr 0.4 and earlier have a list here, 0.5 has it below `ome`. GeoZarr has an object in one of three forms.
    match attributes.get("multiscales").or(inside) {
        Some(Json::Array(images)) => images.iter().map(|image| listed(image.get("datasets"))).collect(),
        Some(image @ Json::Object(_)) => match image.get("tile_matrix_limits").and_then(Json::as_object) {
            Some(limits) => vec![limits.names().collect()],
            None => vec![listed(image.get("layout").or_else(|| image.get("tile_matrix_set")?.get("tileMatrices")))],
        },
        _ => Vec::new(),
    }
}

fn listed(levels: Option<&Json>) -> Vec<&str> {
    let levels = levels.and_then(Json::as_array).unwrap_or_default();
    let names = ["path", "asset", "group", "id"];
    let paths = levels.iter().filter_map(|level| names.iter().find_map(|name| level.get(name)?.as_str()));
    paths.map(|path| path.trim_start_matches("./").trim_matches('/')).collect()
}

const SPARED: &str = "coordinates, and arrays that CF attributes of others name, change only if `--include` or `--rule` \
                      names them without `*`";

/// Fails if a pattern matches no array, or if no array is left: the names are probably wrong.
fn check_patterns(options: &TranscodeOptions, paths: &[&str]) -> Result<()> {
    let rules = options.rules.iter().map(|rule| ("--rule", &rule.pattern));
    let others = [("--only", &options.only), ("--include", &options.include), ("--exclude", &options.exclude)];
    let others = others.iter().flat_map(|(option, list)| list.iter().map(|pattern| (*option, pattern)));
    for (option, pattern) in others.chain(rules) {
        if !paths.iter().any(|path| pattern.matches(path)) {
            return Err(no_match(option, pattern));
        }
    }
    if !paths.is_empty() && !paths.iter().any(|path| is_left(options, path)) {
        return Err(OperationError::data("--include and --exclude leave no array"));
    }
    Ok(())
}

fn no_match(option: &str, pattern: &PathPattern) -> OperationError {
    let help = if pattern.to_string().contains(',') {
        "a comma is part of the pattern: repeat the option for each pattern, or write `{a,b}`"
    } else {
        "patterns match paths without the leading slash; `*` matches within one name, `**/` any number of groups"
    };
    OperationError::data(format!("{option} `{pattern}` matches no array")).with_help(help)
}

/// Fails if an option applies to no array: a name is probably misspelt.
fn check_applied(options: &TranscodeOptions, arrays: &[SourceArray], spared: &[String]) -> Result<()> {
    let store = options.source.display();
    let given = || std::iter::once(&options.change).chain(options.rules.iter().map(|rule| &rule.change));
    let of_all = named_dimensions(&options.change).map(|named| (named, None));
    let of_rules =
        options.rules.iter().flat_map(|rule| named_dimensions(&rule.change).map(|named| (named, Some(&rule.pattern))));
    for ((option, name), pattern) in of_all.chain(of_rules) {
        // `--select` cuts arrays that `--include` leaves out, too.
        let is_changed = |array: &&SourceArray| match pattern {
            // It has to fit anyway.
            Some(pattern) => pattern.ends_with_a_name() || pattern.matches(&array.path),
            None => option == "--select" || is_left(options, &array.path),
        };
        let mut changed = arrays.iter().filter(is_changed);
        if !changed.any(|array| dimension_names(&array.opened).any(|own| own == name)) {
            let what = if arrays.iter().all(|array| is_changed(&array)) { "" } else { " that it may change" };
            let message = format!("{option} names the dimension `{name}`, which no array of `{store}`{what} has");
            let help = "`zarrcast inspect` shows the names of an array's dimensions";
            return Err(OperationError::data(message).with_help(help));
        }
    }
    let packed = "`--unpack` needs `scale_offset` or `cast_value` in the chain, or the attribute `scale_factor` or \
        `add_offset`";
    // A rule may quantise where all others round, and the other way round.
    let of_floats: ChangeTest = |change| change.quantize.is_some() || change.keep_bits.is_some();
    let is_asked = |array: &&SourceArray| {
        let is_of_all = options.include.is_empty() || any_matches(&options.include, &array.path);
        let is_ruled = options.rules.iter().any(|rule| of_floats(&rule.change) && rule.pattern.matches(&array.path));
        is_ruled || (of_floats(&options.change) && is_of_all)
    };
    let is_float = |array: &&SourceArray| array.opened.data_type.number().is_some_and(NumberType::is_float);
    let asked: Vec<&SourceArray> = arrays.iter().filter(is_float).filter(is_asked).collect();
    let left = if asked.is_empty() {
        "the options are for arrays of other types: only floats are quantised or rounded"
    } else if asked.iter().any(|array| any_matches(&options.exclude, &array.path)) {
        "`--exclude` leaves no such array"
    } else if asked.iter().any(|array| spared.contains(&array.path)) {
        SPARED
    } else {
        "`--rule` replaces this change of the array by another one"
    };
    let changes: [(ChangeTest, _, _); 4] = [
        (of_floats, "float array to quantise or round", left),
        (|change| !matches!(change.predict, None | Some(Predict::None)), "array of integers to predict", SPARED),
        (|change| change.repack.is_some(), "array that `--as` can change", repack::PACKED),
        (|change| change.unpack, "array to unpack", packed),
    ];
    for (is_made, what, help) in changes {
        if given().any(is_made) && !arrays.iter().any(|array| is_made(&array.change)) {
            return Err(OperationError::data(format!("`{store}` has no {what}")).with_help(help));
        }
    }
    Ok(())
}

/// Returns the dimensions that options name, with the option.
fn named_dimensions(change: &ChangeOptions) -> impl Iterator<Item = (&'static str, &String)> {
    let ChangeOptions { select, chunk_shape, shard_shape, .. } = change;
    let shard_shape = if let Some(ShardRequest::Shape(shape)) = shard_shape { Some(shape) } else { None };
    let names = select.iter().map(|slice| ("--select", &slice.dimension));
    let names = names.chain(named_lengths(chunk_shape.as_ref()).iter().map(|(name, _)| ("--chunk-shape", name)));
    let names = names.chain(named_lengths(shard_shape).iter().map(|(name, _)| ("--shard-shape", name)));
    let predicted = change.predicted().iter().filter(|name| name.parse::<usize>().is_err());
    names.chain(predicted.map(|name| ("--predict", name)))
}

/// Tests options for a change that needs arrays of some kind.
type ChangeTest = fn(&ChangeOptions) -> bool;

fn named_lengths(shape: Option<&ShapeRequest>) -> &[(String, u64)] {
    if let Some(ShapeRequest::Named(named)) = shape { named } else { &[] }
}

/// Cuts an array to the slices of `--select`. From here on, the array consists of the chunks that overlap them.
pub(super) fn take(array: &mut SourceArray) -> Result<()> {
    let ChangeOptions { select, dimension_names, .. } = &array.change;
    let metadata = &array.opened.metadata;
    // If the array has names of its own, `--select` uses these, not the new ones.
    let has_names = metadata.dimension_names.as_ref().is_some_and(|names| names.iter().any(Option::is_some));
    let names = Names { source: metadata, asked: if has_names { None } else { dimension_names.as_deref() } };
    let mut known = Vec::new();
    let mut region = Region { start: vec![0; metadata.shape.len()], shape: metadata.shape.clone() };
    for slice in select {
        let dimension = names.dimension_or_number("--select", &slice.dimension)?;
        if known.contains(&dimension) {
            let message = format!("--select gives the dimension `{}` twice, by name and by number", slice.dimension);
            return Err(OperationError::data(message));
        }
        known.push(dimension);
        let (start, stop) = ends_of(slice, metadata.shape[dimension], &array.opened.store)?;
        (region.start[dimension], region.shape[dimension]) = (start, stop - start);
    }
    if region.shape != metadata.shape {
        array.opened.metadata = metadata.part(&region);
    }
    Ok(())
}

/// Returns the start and stop index of a slice, in a dimension of `length` elements.
fn ends_of(slice: &Slice, length: u64, store: &str) -> Result<(u64, u64)> {
    let Slice { dimension, start, stop } = slice;
    let refusal = |what: String| {
        let text = |index: &Option<i64>| index.map_or_else(String::new, |index| index.to_string());
        let message = format!("--select {dimension}={}:{} of `{store}` {what}", text(start), text(stop));
        OperationError::data(message).with_help(format!("STOP is the index after the last element, at most {length}"))
    };
    let index = |index: Option<i64>, default: u64| match index {
        None => Some(default),
        Some(index) if index < 0 => length.checked_sub(index.unsigned_abs()),
        Some(index) => Some(index.unsigned_abs()).filter(|index| *index <= length),
    };
    let ends = index(*start, 0).zip(index(*stop, length));
    let (start, stop) =
        ends.ok_or_else(|| refusal(format!("leaves the array, which has {} there", counted(length, "element"))))?;
    // An axis of length 0 has only the empty slice.
    if start >= stop && length > 0 {
        return Err(refusal("selects no element".to_owned()));
    }
    Ok((start, stop.max(start)))
}

fn dimension_names(array: &OpenedArray) -> impl Iterator<Item = &str> {
    array.metadata.dimension_names.iter().flatten().flatten().map(String::as_str)
}

fn any_matches(patterns: &[PathPattern], path: &str) -> bool {
    patterns.iter().any(|pattern| pattern.matches(path))
}

fn is_left(options: &TranscodeOptions, path: &str) -> bool {
    (options.include.is_empty() || any_matches(&options.include, path)) && !any_matches(&options.exclude, path)
}

/// Sets the changes of an array. They are the options of the command line, if it is not excluded, overridden by those of
/// each matching rule. Options and patterns with wildcards change what they fit, a rule with a name has to fit. Returns
/// whether it is not quantised or rounded because other arrays need its exact values.
pub(super) fn set_change(options: &TranscodeOptions, array: &mut SourceArray, coordinates: &HashSet<String>) -> bool {
    let SourceArray { path, opened: source, .. } = array;
    let rules: Vec<_> = options.rules.iter().filter(|rule| rule.pattern.matches(path)).collect();
    let is_excluded = any_matches(&options.exclude, path);
    let mut chosen = options.change.clone();
    if !is_left(options, path) {
        // A hierarchy has one format, because no reader opens a mixed one. Its arrays share dimensions, so a slice
        // applies to all of them.
        let ChangeOptions { select, zarr_format, .. } = chosen;
        chosen = ChangeOptions { select, zarr_format, ..ChangeOptions::default() };
    }
    let is_named = options.include.iter().any(|pattern| pattern.matches(path) && pattern.ends_with_a_name())
        || rules.iter().any(|rule| rule.pattern.ends_with_a_name());
    fit(&mut chosen, source, false);
    let mut predicts = false;
    if is_excluded {
        // An array that `--include` leaves out is cut with the others. One that `--exclude` names is copied whole.
        chosen.select.clear();
    } else {
        for rule in rules {
            let mut change = rule.change.clone();
            if rule.pattern.ends_with_a_name() {
                predicts |= change.predict.is_some();
            } else {
                fit(&mut change, source, chosen.unpack);
            }
            chosen.override_by(&change);
        }
    }
    let is_float = source.data_type.number().is_some_and(NumberType::is_float);
    let stays_float = is_float && chosen.quantize.is_none() && !change::is_packed_array(source);
    let is_needed = coordinates.contains(path) && !is_named;
    if !predicts && (stays_float || source.data_type.number().is_none() || is_needed) {
        // Otherwise `--compress auto:small` would try differences.
        chosen.predict = Some(Predict::None);
    }
    let is_spared = is_needed && (chosen.quantize.is_some() || chosen.keep_bits.is_some());
    if is_spared {
        (chosen.quantize, chosen.keep_bits) = (None, None);
    }
    // Without a conversion of values, its options do not apply.
    if chosen.quantize.is_none() && chosen.data_type.is_none() && !chosen.unpack {
        (chosen.rounding, chosen.out_of_range, chosen.nan_value) = (None, None, None);
    }
    array.change = chosen;
    is_spared
}

/// Removes what does not fit an array. Its values may be unpacked already.
fn fit(change: &mut ChangeOptions, source: &OpenedArray, is_unpacked: bool) {
    let asked = (change.unpack, change.repack);
    change.unpack &= change::is_packed_array(source);
    change.repack = change.repack.filter(|form| repack::is_for(source, *form));
    if asked != (change.unpack, change.repack) {
        // `--data-type` is the type of the unpacked floats.
        change.data_type = None;
    }
    let is_float = source.data_type.number().is_some_and(NumberType::is_float);
    if !is_float && !change.unpack && !is_unpacked {
        (change.quantize, change.keep_bits) = (None, None);
    }
    keep_dimensions(change, source);
}

/// Keeps only the named lengths of the array's own dimensions.
fn keep_dimensions(options: &mut ChangeOptions, source: &OpenedArray) {
    let own: Vec<&str> = dimension_names(source).collect();
    options.select.retain(|slice| own.contains(&slice.dimension.as_str()));
    let is_of_others = |request: &mut ShapeRequest| {
        let ShapeRequest::Named(named) = request else { return false };
        named.retain(|(name, _)| own.contains(&name.as_str()));
        named.is_empty()
    };
    options.chunk_shape.take_if(is_of_others);
    options.shard_shape.take_if(|request| match request {
        ShardRequest::Shape(shape) => is_of_others(shape),
        ShardRequest::None => false,
    });
    if let Some(Predict::Dimensions(dimensions)) = &mut options.predict {
        let rank = source.metadata.shape.len();
        dimensions
            .retain(|dimension| own.contains(&dimension.as_str()) || dimension.parse().is_ok_and(|n: usize| n < rank));
        if dimensions.is_empty() {
            options.predict = Some(Predict::None);
        }
    }
}

/// Returns the paths of the arrays that patterns match, of their coordinates, and of arrays in their CF attributes.
/// Also returns the groups above them.
pub(super) fn kept(patterns: &[PathPattern], arrays: &[SourceArray]) -> HashSet<String> {
    let is_asked = |array: &&SourceArray| patterns.iter().any(|pattern| pattern.matches(&array.path));
    let mut waiting: Vec<&SourceArray> = arrays.iter().filter(is_asked).collect();
    let paths: HashSet<&str> = arrays.iter().map(|array| array.path.as_str()).collect();
    let mut kept = HashSet::from(["/".to_owned()]);
    while let Some(SourceArray { path, opened, .. }) = waiting.pop() {
        // Attributes of two arrays may name each other.
        if !kept.insert(path.clone()) {
            continue;
        }
        // The first slash is that of the root, which is kept in any case.
        kept.extend(path.match_indices('/').skip(1).map(|(end, _)| path[..end].to_owned()));
        let needed = needed(path, opened, |path| paths.contains(path));
        waiting.extend(arrays.iter().filter(|array| needed.contains(&array.path)));
    }
    kept
}

/// Returns the paths that an array's attributes name, and possible paths of coordinates of its dimensions. These are in
/// its group or in a group above.
fn needed(path: &str, array: &OpenedArray, exists: impl Fn(&str) -> bool) -> HashSet<String> {
    let member = (path, Some(&array.metadata), &array.metadata.attributes);
    let mut needed: HashSet<String> = named(&member, exists).into_iter().collect();
    for (end, _) in path.match_indices('/') {
        needed.extend(dimension_names(array).map(|name| format!("{}/{name}", &path[..end])));
    }
    needed
}
