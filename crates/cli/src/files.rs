//! The files of a map, written all or none.

use std::{
    fs,
    path::{Path, PathBuf},
};

use countgrid_corpus::{BoilerplateLine, Corpus, NearDuplicate};
use countgrid_io::{LeftOut, ModelFile, StagedFiles, check_outputs, check_writable, id_in_folder};
use countgrid_map::MAX_LAYERS;

use crate::{
    collection::source_name, csv_table::CsvTable, failure::Failure, run_file, training::Checkpoints,
};

/// Checks that files can be written in a folder, which is made only with the first of them: a run that is refused leaves none.
pub(crate) fn check_folder(
    folder: &Path,
    files: impl IntoIterator<Item = impl AsRef<Path>>,
) -> Result<(), Failure> {
    if folder.exists() {
        return Ok(files.into_iter().try_for_each(check_writable)?);
    }
    // The outermost that is to be made, as the name of a file, which is as good as a folder's.
    let missing = |path: &&Path| !path.as_os_str().is_empty() && !path.exists();
    Ok(check_writable(folder.ancestors().take_while(missing).last().unwrap_or(folder))?)
}

/// Makes the folder of results, and those around it.
pub(crate) fn make_folder(folder: &Path) -> Result<(), Failure> {
    fs::create_dir_all(folder).map_err(|error| {
        Failure::new(format_args!("{}: {error}", folder.display()), "name another folder (--output)")
    })
}

/// What is written: a page and two pictures, or those of each layer, a table of places and a model; of topographic maps a table of points.
pub(crate) struct Files {
    folder: PathBuf,
    pub(crate) page: PathBuf,
    layers: Vec<[PathBuf; 3]>, // page, SVG and PNG of layers, also of those that there are not
    used: usize,               // how many layers there are
    pub(crate) model: PathBuf,
    pub(crate) points: PathBuf,
    pub(crate) places: PathBuf,
    pub(crate) svg: PathBuf,
    pub(crate) png: PathBuf,
    skipped: PathBuf, // the list of what was not read or not taken
    /// All options, unless they are from that file, or not to be written.
    pub(crate) run_file: Option<PathBuf>,
    options: PathBuf, // the same, whether or not it is to be written
}

impl Files {
    /// The files in a folder that exists or can be made; none of them among the inputs.
    pub(crate) fn in_folder(
        folder: &Path,
        topographic: bool,
        used: usize,
        inputs: &[PathBuf],
        run_file: Option<PathBuf>,
    ) -> Result<Self, Failure> {
        // Rather than `./map.html`.
        let file = |name: &str| if folder == Path::new(".") { name.into() } else { folder.join(name) };
        let [page, model, points, places, svg, png, skipped, options] = [
            "map.html",
            "model.safetensors",
            "points.csv",
            "places.csv",
            "map.svg",
            "map.png",
            "skipped.csv",
            run_file::NAME,
        ]
        .map(file);
        let layer = |layer| ["html", "svg", "png"].map(|end| file(&format!("map-{layer}.{end}")));
        let layers = (1..=MAX_LAYERS).map(layer).collect();
        let folder = folder.to_owned();
        let files =
            Self { folder, page, layers, used, model, points, places, svg, png, skipped, run_file, options };
        let checkpoint = Checkpoints::path_beside(&files.model);
        check_outputs(inputs, files.written(topographic).into_iter().chain([checkpoint.as_path()]))?;
        if files.folder.exists() {
            files.written(topographic).into_iter().try_for_each(check_writable)?;
        } else {
            check_writable(&files.folder)?; // as a name, which is as good as a folder's
        }
        Ok(files)
    }

    fn written(&self, topographic: bool) -> Vec<&Path> {
        let mut written = if topographic { self.topographic_paths() } else { self.grid_paths() };
        written.push(&self.skipped);
        written.extend(self.run_file.as_deref());
        written
    }

    /// All that a map may have written.
    pub(crate) fn all(&self) -> Vec<&Path> {
        let others = self
            .layers
            .iter()
            .flatten()
            .chain([&self.places, &self.skipped])
            .chain([&self.options])
            .map(PathBuf::as_path);
        self.topographic_paths().into_iter().chain(others).collect()
    }

    /// The list of the files and folders that were not read, of the documents that repeat others and of the lines that most documents of a
    /// source have, if there are any, or another list is to be replaced.
    pub(crate) fn left_out<T>(&self, corpus: &Corpus<T>) -> Option<(&Path, Vec<u8>)> {
        let source = corpus.source.as_ref()?;
        let nothing =
            source.left_out.is_empty() && corpus.near_duplicates.is_empty() && corpus.boilerplate.is_empty();
        if nothing && !self.skipped.exists() {
            return None;
        }
        let mut table = CsvTable::new(Vec::new(), false);
        table.write_record(["path", "why"]).ok()?;
        for LeftOut { path, why, .. } in &source.left_out {
            let inside = match source.paths.is_empty() {
                true => id_in_folder(path, &source.path),
                false => path.to_string_lossy().into_owned(), // there is no folder of all of them
            };
            table.write_record([&inside, why]).ok()?;
        }
        for NearDuplicate { id, of } in &corpus.near_duplicates {
            let of = corpus.documents.get(*of)?;
            // Ids may be there twice in a table.
            let title = if of.title == of.id { String::new() } else { format!(", {}", of.title) };
            table.write_record([id, &format!("near-duplicate of {}{title}", of.id)]).ok()?;
        }
        for BoilerplateLine { words, source, with, documents } in &corpus.boilerplate {
            let why = format!("line in {with} of {documents} documents: {words}");
            table.write_record([&source_name(source), &why]).ok()?;
        }
        Some((&self.skipped, table.into_inner()))
    }

    pub(crate) fn topographic_paths(&self) -> Vec<&Path> {
        let Self { page, model, points, svg, png, .. } = self;
        [page, model, points, svg, png].map(PathBuf::as_path).to_vec()
    }

    /// Page, SVG and PNG of a grid, or those of its layers.
    pub(crate) fn views(&self) -> Vec<[&Path; 3]> {
        match self.used {
            1 => vec![[&self.page, &self.svg, &self.png]],
            used => self.layers.iter().take(used).map(|view| view.each_ref().map(PathBuf::as_path)).collect(),
        }
    }

    /// All of a grid: pages, pictures, places and the model.
    pub(crate) fn grid_paths(&self) -> Vec<&Path> {
        let views = self.views();
        let of = |kind: usize| views.iter().map(move |view| view[kind]);
        of(0).chain(of(1)).chain(of(2)).chain([self.places.as_path(), &self.model]).collect()
    }

    /// All or none: files get their names once all of them, and last the model, have been written.
    pub(crate) fn write(&self, rendered: &[(&Path, Vec<u8>)], model: &ModelFile) -> Result<(), Failure> {
        let made = !self.folder.exists();
        if made {
            fs::create_dir(&self.folder).map_err(|error| {
                Failure::new(
                    format_args!("{}: {error}", self.folder.display()),
                    "name another folder (--output)",
                )
            })?;
        }
        let written = self.write_all(rendered, model);
        if written.is_err() && made {
            let _not_empty = fs::remove_dir(&self.folder);
        }
        written
    }

    fn write_all(&self, rendered: &[(&Path, Vec<u8>)], model: &ModelFile) -> Result<(), Failure> {
        let mut files = StagedFiles::new();
        for (path, bytes) in rendered {
            files.write(path, |out| out.write_all(bytes))?;
        }
        files.write_model(&self.model, model)?;
        Ok(files.publish()?)
    }
}
