//! `pack LIBRARY.wasm PAGE OUTPUT`: writes the module into the folder OUTPUT, and from the parts in the folder PAGE the
//! page `countgrid.html`, which needs no other file.
#![forbid(unsafe_code)]

use std::{env, error::Error, fs, path::Path};

use base64::{Engine, engine::general_purpose::STANDARD};
use wasm_bindgen_cli_support::Bindgen;

const MODULE: &str = "countgrid_wasm";

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [library, page, output] = arguments.as_slice() else {
        return Err("needs three arguments: LIBRARY.wasm PAGE OUTPUT".into());
    };
    let output = Path::new(output);
    let bindgen = || {
        let mut bindgen = Bindgen::new();
        bindgen.input_path(library).out_name(MODULE).omit_default_module_path(true);
        bindgen.remove_name_section(true).remove_producers_section(true);
        bindgen
    };
    bindgen().web(true)?.typescript(true).generate(output)?;
    // Node.js before 22 takes a file for a module only where this says so.
    let package = format!(
        "{{ \"name\": \"countgrid-wasm\", \"type\": \"module\", \"main\": \"{MODULE}.js\", \"types\": \"{MODULE}.d.ts\" }}\n"
    );
    fs::write(output.join("package.json"), package)?;
    // From the disk browsers start no worker that is a module.
    let glue = bindgen().no_modules(true)?.typescript(false).generate_output()?.js().to_owned();

    let read = |part: &str| {
        let file = Path::new(page).join(part);
        fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))
    };
    let library = STANDARD.encode(fs::read(output.join(format!("{MODULE}_bg.wasm")))?);
    let parts = [
        ("style", read("style.css")?),
        ("page", read("page.js")?),
        ("worker", glue + &read("worker.js")?),
        ("library", library),
        ("sample", read("sample.txt")?),
    ];
    let mut html = read("index.html")?;
    for (name, part) in parts {
        // Inside an element nothing may look like its end.
        if name != "style" && (part.contains("</script") || part.contains("<!--")) {
            return Err(format!("the part `{name}` would end its script element").into());
        }
        let place = format!("{{{{{name}}}}}");
        if html.matches(&place).count() != 1 {
            return Err(format!("index.html needs {place} once").into());
        }
        html = html.replace(&place, &part);
    }
    fs::write(output.join("countgrid.html"), html)?;
    Ok(())
}
