"""Writes a collection in every format that programs on this machine can write, and its plain-text twin.

    python3 make.py FOLDER

FOLDER/twin.json has the documents, each with an identifier, a title and paragraphs; FOLDER/formats.json lists the rest: the path, the documents
that it holds, in order, and whether it holds them or their counts. Programs and modules that are absent are printed. Nothing here reads the files:
`formats.rs` does, and compares them with the twin word by word.
"""

import csv
import email.policy
import gzip
import html
import io
import json
import mailbox
import shutil
import subprocess
import sys
import tarfile
import zipfile
from email.message import EmailMessage
from pathlib import Path

TWIN = [
    ("en", "The road of the ants", [
        ("Red ants walk from here to there – “always” in a line, 5 € each. Nobody told them where the honey stands; the first who finds "
         "it goes home and leaves a scent behind her, and those who meet the scent follow it."),
        ("A road that leads to nothing is walked less and less, until the wind has taken it. So the nest remembers for as long as it pays, "
         "and forgets at no cost."),
    ]),
    ("en", "Of an office", [
        ("An efficient office affords fluffy waffles. The chief finds five difficult configurations of the lighthouse, notwithstanding the "
         "extraordinary circumstances of the afflicted fishermen."),
        "A & B < C > D, said the second officer: \"we're off at five o'clock\", and none of the others' files were left on the shelf.",
        "Internationalization of telecommunications remains incomprehensible to most of its representatives.",
    ]),
    ("en", "Weights and measures", [
        ("A stone of wool had 14 pounds, a stone of cheese 16, and a stone of glass 5. Who bought at one town and sold at the next had to know "
         "all of them by heart."),
        "The metre ended this in 1799, at least on paper: the law came first, the rulers much later.",
    ]),
    ("de", "Die Größe der Fläche", [
        ("Die Fläche ist größer, als man glaubt, und das überrascht viele. Wer sie messen will, braucht Geduld, gute Schuhe und einen Hund, der "
         "nicht jedem Hasen nachläuft."),
        "Früher ging man die Grenze einmal im Jahr ab; heute genügt ein Blick auf die Karte, die freilich über die Höhe nichts sagt.",
    ]),
    ("de", "Über das Brot", [
        "Brot ist, was übrig bleibt, wenn man Mehl, Wasser und Salz lange genug in Ruhe lässt. Die Bäcker stehen früh auf, weil der Teig es so will.",
        "In Öfen aus Stein hält sich die Wärme bis zum Abend, und in den letzten Stunden trocknen darin die Äpfel.",
    ]),
    ("ru", "О дороге", [
        "Широкая дорога ведёт на юг, мимо старой мельницы и высокого моста. Зимой по ней почти никто не ездит, а летом на ней всегда стоит пыль.",
        "Каждый, кто идёт по этой дороге, рано или поздно останавливается у колодца: вода в нём холодная и очень вкусная.",
    ]),
    ("el", "Η αυλή", [
        "Τα παιδιά παίζουν στην αυλή του σχολείου. Η θάλασσα είναι κοντά και ο άνεμος φέρνει το άρωμα του αλατιού.",
    ]),
    ("ja", "猫の一日", [
        "吾輩の家には猫がいる。朝は早く起きて庭を歩き、昼は日のあたる場所で眠る。夜になると台所へ行き、魚がないかと探している。",
        "名前はまだない。けれども、呼べばいつでも来るので、だれも困らない。",
    ]),
]
IDS = [f"{number:02}" for number in range(len(TWIN))]
ALPHABETIC = [number for number, (language, _, _) in enumerate(TWIN) if language != "ja"]  # of which fonts are everywhere
OF = {language: [number for number, twin in enumerate(TWIN) if twin[0] == language] for language, _, _ in TWIN}
EVERY = list(range(len(TWIN)))


class Absent(Exception):
    pass


def program(name):
    found = shutil.which(name)
    if not found:
        raise Absent(name)
    return found


def run(name, *arguments, **options):
    ran = subprocess.run([program(name), *map(str, arguments)], capture_output=True, check=False, **options)
    if ran.returncode != 0:
        raise RuntimeError(f"{name} {arguments}: {ran.stderr.decode(errors='replace')}")
    return ran.stdout


def plain(number, end="\n"):
    _, title, paragraphs = TWIN[number]
    return (end * 2).join([title, *paragraphs]) + end


def markdown(number):
    """As pandoc reads it, without what it would take for markup."""
    _, title, paragraphs = TWIN[number]
    escaped = [text.replace("<", r"\<").replace(">", r"\>") for text in paragraphs]
    return f"# {title}\n\n" + "\n\n".join(escaped) + "\n"


def page(number, around=False):
    language, title, paragraphs = TWIN[number]
    article = f"<h1>{html.escape(title)}</h1>" + "".join(f"\n<p>{html.escape(text)}</p>" for text in paragraphs)
    if around:  # what pages of the web have
        article = (
            '<header><nav><ul><li><a href="/">Home</a></li><li><a href="/about">About us</a></li></ul></nav></header>'
            f"<script>var shown = 1 < 2;</script><main><article>{article}</article></main>"
            '<footer><p>All rights reserved. <a href="/cookies">Cookies</a></p></footer>'
        )
    return (
        f'<!DOCTYPE html>\n<html lang="{language}"><head><meta charset="utf-8"><title>{html.escape(title)}</title>'
        f'<style>body {{ font: 12pt "DejaVu Sans"; hyphens: none }}</style></head>\n<body>{article}</body></html>\n'
    )


def mail(number):
    language, title, paragraphs = TWIN[number]
    message = EmailMessage(policy=email.policy.SMTP)
    message["From"] = f"Writer {number} <writer{number}@example.org>"
    message["To"] = "list@example.org"
    message["Subject"] = title
    message["Date"] = f"Mon, {5 + number:02} Jan 2026 10:00:00 +0100"
    message["Message-ID"] = f"<{number}@example.org>"
    charset, encoding = {"ru": ("koi8-r", "base64"), "de": ("iso-8859-1", "quoted-printable")}.get(language, ("utf-8", "quoted-printable"))
    message.set_content("\n\n".join(paragraphs) + "\n", charset=charset, cte=encoding)
    if number % 2:
        message.add_alternative(page(number), subtype="html")
    return message


def rows(numbers):
    yield ["id", "title", "text", "label"]
    for number in numbers:
        language, title, paragraphs = TWIN[number]
        yield [IDS[number], title, "\n\n".join(paragraphs), language]


def table(path, numbers, **dialect):
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, **dialect).writerows(rows(numbers))


def objects(numbers):
    header, *rest = rows(numbers)
    return [dict(zip(header, row, strict=True)) for row in rest]


def notebook(number):
    _, title, paragraphs = TWIN[number]

    def cell(kind, text, **more):
        return {"cell_type": kind, "metadata": {}, "source": text.splitlines(keepends=True), **more}

    # A cell of code is no text; what it printed is none either.
    code = cell("code", "", execution_count=None, outputs=[{"output_type": "stream", "name": "stdout", "text": ["printed\n"]}])
    cells = [cell("markdown", f"# {title}"), *[cell("markdown", text) for text in paragraphs], code]
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, ensure_ascii=False)


def in_folder(path, numbers, name, content):
    path.mkdir()
    for number in numbers:
        made = content(number)
        (path / name.format(IDS[number])).write_bytes(made if isinstance(made, bytes) else made.encode())


# --- of Python itself -----------------------------------------------------------------------------------


def encoded(encoding, numbers, end="\n"):
    return lambda path: in_folder(path, numbers, "{}.txt", lambda number: plain(number, end).encode(encoding))


def with_front_matter(path):
    in_folder(path, EVERY, "{}.md", lambda number: f"---\ntitle: {json.dumps(TWIN[number][1], ensure_ascii=False)}\nlayout: post\n---\n\n"
              + markdown(number))


def mbox(path):
    box = mailbox.mbox(path)
    for number in EVERY:
        box.add(mail(number))
    box.close()


def zipped(path):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for number in EVERY:
            archive.writestr(f"texts/{IDS[number]}.txt", plain(number))


def tar(mode):
    def write(path):
        with tarfile.open(path, mode) as archive:
            for number in EVERY:
                content = plain(number).encode()
                entry = tarfile.TarInfo(f"texts/{IDS[number]}.txt")
                entry.size = len(content)
                archive.addfile(entry, io.BytesIO(content))
    return write


def nested(path):
    inner = io.BytesIO()
    with tarfile.open(fileobj=inner, mode="w:gz") as archive:
        for number in EVERY[4:]:
            content = page(number, around=True).encode()
            entry = tarfile.TarInfo(f"{IDS[number]}.html")
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    with zipfile.ZipFile(path, "w") as archive:
        for number in EVERY[:4]:
            archive.writestr(f"{IDS[number]}.eml", mail(number).as_bytes())
        archive.writestr("more.tar.gz", inner.getvalue())


def code(begin, line, end):
    def write(number):
        text = plain(number).strip().replace("\n\n", "\n")
        return begin + "\n".join(line + part for part in text.split("\n")) + end
    return write


# --- counts ---------------------------------------------------------------------------------------------


def counted(numbers):
    """The words, and of each document its words by number."""
    texts = [[word for word in plain(number).split() if any(map(str.isalnum, word))] for number in numbers]
    words = sorted({word for text in texts for word in text})
    number_of = {word: number for number, word in enumerate(words)}
    return words, [{number_of[word]: text.count(word) for word in text} for text in texts]


def counts(write):
    def made(path):
        words, bags = counted(EVERY)
        path.mkdir()
        (path / "vocab.txt").write_text("\n".join(words) + "\n", encoding="utf-8")
        return path / write(path, len(words), bags)
    return made


def docword(path, width, bags):
    lines = [f"{n + 1} {word + 1} {count}" for n, bag in enumerate(bags) for word, count in sorted(bag.items())]
    with gzip.open(path / "docword.txt.gz", "wt", encoding="utf-8") as file:
        file.write("\n".join([str(len(bags)), str(width), str(len(lines)), *lines]) + "\n")
    return "docword.txt.gz"


def svmlight(path, _width, bags):
    lines = [f"{n} " + " ".join(f"{word + 1}:{count}" for word, count in sorted(bag.items())) for n, bag in enumerate(bags)]
    (path / "counts.svm").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return "counts.svm"


def sparse(width, bags):
    import scipy.sparse

    entries = [(count, n, word) for n, bag in enumerate(bags) for word, count in bag.items()]
    values, lines, columns = zip(*entries, strict=True)
    return scipy.sparse.csr_matrix((values, (lines, columns)), shape=(len(bags), width))


def matrix_market(path, width, bags):
    matrix = sparse(width, bags)
    import scipy.io

    scipy.io.mmwrite(path / "counts.mtx", matrix)
    return "counts.mtx"


def npz(path, width, bags):
    matrix = sparse(width, bags)
    import scipy.sparse

    scipy.sparse.save_npz(path / "counts.npz", matrix)
    return "counts.npz"


# --- of other programs ----------------------------------------------------------------------------------


def pandoc(to, ending, *more):
    def write(path):
        program("pandoc")
        path.mkdir()
        for number in EVERY:
            arguments = ["-f", "markdown-smart", "-t", to, "-s", *more, "--metadata", f"pagetitle={TWIN[number][1]}"]
            run("pandoc", *arguments, "-o", path / f"{IDS[number]}.{ending}", input=markdown(number).encode())
    return write


def source(path, numbers, name, content):
    """Files beside a format for another program to read."""
    folder = path.parent / "source"
    shutil.rmtree(folder, ignore_errors=True)
    in_folder(folder, numbers, name, content)
    return folder


def libreoffice(to, ending, numbers):
    def write(path):
        program("soffice")
        pages = source(path, numbers, "{}.html", page)
        path.mkdir()
        run("soffice", "--headless", f"-env:UserInstallation=file://{path.parent.resolve()}/profile", "--infilter=HTML (StarWriter)",
            "--convert-to", to, "--outdir", path, *sorted(pages.iterdir()))
        made = sorted(file.name for file in path.iterdir())
        assert made == [f"{IDS[number]}.{ending}" for number in numbers], made
    return write


def libreoffice_sheet(ending):
    def write(path):
        program("soffice")
        rows_of = path.with_suffix(".csv")
        table(rows_of, EVERY)
        run("soffice", "--headless", f"-env:UserInstallation=file://{path.parent.resolve()}/profile", "--infilter=CSV:44,34,76,1",
            "--convert-to", ending, "--outdir", path.parent, rows_of)
        rows_of.unlink()
    return write


def ghostscript(path):
    program("ps2pdf")
    program("groff")
    path.mkdir()
    for number in OF["en"]:
        _, title, paragraphs = TWIN[number]
        paragraphs = [text.replace("'", r"\(aq") for text in paragraphs]  # else a quotation mark
        roff = f".SH\n{title}\n" + "".join(f".LP\n{text}\n" for text in paragraphs)
        script = run("groff", "-k", "-ms", "-Tps", "-P-pa4", input=(".nh\n" + roff).encode())
        (path / f"{IDS[number]}.pdf").write_bytes(run("ps2pdf", "-", "-", input=script))


def chromium(path):
    program("chromium")
    pages = source(path, ALPHABETIC, "{}.html", page)
    path.mkdir()
    for number in ALPHABETIC:
        run("chromium", "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
            f"--user-data-dir={path.parent.resolve()}/chromium", "--no-pdf-header-footer", f"--print-to-pdf={path.resolve()}/{IDS[number]}.pdf",
            (pages / f"{IDS[number]}.html").resolve().as_uri())


def reportlab(path):
    from reportlab.lib.pagesizes import A5
    from reportlab.lib.styles import getSampleStyleSheet
    from reportlab.platypus import Paragraph, SimpleDocTemplate

    path.mkdir()
    styles = getSampleStyleSheet()
    for number in OF["en"] + OF["de"]:
        _, title, paragraphs = TWIN[number]
        story = [Paragraph(html.escape(title), styles["Heading1"]), *[Paragraph(html.escape(text), styles["BodyText"]) for text in paragraphs]]
        SimpleDocTemplate(str(path / f"{IDS[number]}.pdf"), pagesize=A5).build(story)


def openpyxl(path):
    from openpyxl import Workbook

    book = Workbook()
    for row in rows(EVERY):
        book.active.append(row)
    book.save(path)


def xlsxwriter(path):
    from xlsxwriter import Workbook

    book = Workbook(str(path))
    sheet = book.add_worksheet()
    for number, row in enumerate(rows(EVERY)):
        sheet.write_row(number, 0, row)
    book.close()


def odfpy(path):
    from odf import opendocument, text
    from odf import table as odf_table

    book = opendocument.OpenDocumentSpreadsheet()
    sheet = odf_table.Table(name="First")
    for row in rows(EVERY):
        line = odf_table.TableRow()
        for value in row:
            cell = odf_table.TableCell(valuetype="string")
            for paragraph in value.split("\n"):
                cell.addElement(text.P(text=paragraph))
            line.addElement(cell)
        sheet.addElement(line)
    book.spreadsheet.addElement(sheet)
    book.save(path)


def arrow_table():
    import pyarrow

    header, *rest = rows(EVERY)
    return pyarrow, pyarrow.table(dict(zip(header, zip(*rest, strict=True), strict=True)))


def parquet(**options):
    def write(path):
        _, columns = arrow_table()
        import pyarrow.parquet

        pyarrow.parquet.write_table(columns, path, **options)
    return write


def arrow(kind):
    def write(path):
        pyarrow, columns = arrow_table()
        make = {"file": pyarrow.ipc.new_file, "stream": pyarrow.ipc.new_stream}[kind]
        with make(path, columns.schema) as writer:
            writer.write_table(columns, max_chunksize=3)
    return write


def feather(path):
    _, columns = arrow_table()
    import pyarrow.feather

    pyarrow.feather.write_feather(columns, path)


def polars(ending):
    def write(path):
        import polars

        header, *rest = rows(EVERY)
        frame = polars.DataFrame(rest, schema=header, orient="row")
        getattr(frame, {"parquet": "write_parquet", "arrow": "write_ipc"}[ending])(path)
    return write


def nbformat(path):
    from nbformat import v4, writes

    def written(number):
        _, title, paragraphs = TWIN[number]
        cells = [v4.new_markdown_cell(f"# {title}"), *[v4.new_markdown_cell(text) for text in paragraphs]]
        return writes(v4.new_notebook(cells=cells))
    in_folder(path, EVERY, "{}.ipynb", written)


def gnu_tar(path):
    program("tar")
    run("tar", "czf", path, "-C", source(path, EVERY, "{}.txt", plain), *[f"{name}.txt" for name in IDS])


FORMATS = [
    ("texts-utf-8", encoded("utf-8", EVERY), EVERY),
    ("texts-utf-8-signed-crlf", encoded("utf-8-sig", EVERY, "\r\n"), EVERY),
    ("texts-utf-16", encoded("utf-16", EVERY), EVERY),
    ("texts-utf-16-be", encoded("utf-16-be", OF["en"] + OF["de"]), OF["en"] + OF["de"]),
    ("texts-windows-1252", encoded("cp1252", OF["en"] + OF["de"]), OF["en"] + OF["de"]),
    ("texts-windows-1251", encoded("cp1251", OF["ru"]), OF["ru"]),
    ("texts-koi8-r", encoded("koi8-r", OF["ru"]), OF["ru"]),
    ("texts-iso-8859-7", encoded("iso-8859-7", OF["el"]), OF["el"]),
    ("texts-shift-jis", encoded("shift-jis", OF["ja"]), OF["ja"]),
    ("texts-euc-jp", encoded("euc-jp", OF["ja"]), OF["ja"]),
    ("texts-gzip", lambda path: in_folder(path, EVERY, "{}.txt.gz", lambda number: gzip.compress(plain(number).encode())), EVERY),
    ("markdown", with_front_matter, EVERY),
    ("html", lambda path: in_folder(path, EVERY, "{}.html", lambda number: page(number, around=True)), EVERY),
    ("mails", lambda path: in_folder(path, EVERY, "{}.eml", lambda number: mail(number).as_bytes()), EVERY),
    ("mailbox.mbox", mbox, EVERY),
    ("notebooks", lambda path: in_folder(path, EVERY, "{}.ipynb", notebook), EVERY),
    ("code-python", lambda path: in_folder(path, ALPHABETIC, "{}.py", code("", "# ", "\n")), ALPHABETIC),
    ("code-c", lambda path: in_folder(path, ALPHABETIC, "{}.c", code("/*\n", " * ", "\n */\n")), ALPHABETIC),
    ("commas.csv", lambda path: table(path, EVERY), EVERY),
    ("semicolons.csv", lambda path: table(path, EVERY, delimiter=";"), EVERY),
    ("tabs.tsv", lambda path: path.write_text("\n".join("\t".join(" ".join(field.split()) for field in row) for row in rows(EVERY)) + "\n",
                                              encoding="utf-8"), EVERY),
    ("array.json", lambda path: path.write_text(json.dumps(objects(EVERY), indent=1), encoding="utf-8"), EVERY),
    ("lines.jsonl", lambda path: path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in objects(EVERY)),
                                                 encoding="utf-8"), EVERY),
    ("archive.zip", zipped, EVERY),
    ("archive.tar", tar("w"), EVERY),
    ("archive.tar.gz", tar("w:gz"), EVERY),
    ("nested.zip", nested, EVERY),
    ("docword", counts(docword), EVERY),
    ("svmlight", counts(svmlight), EVERY),
    ("matrix-market", counts(matrix_market), EVERY),
    ("npz", counts(npz), EVERY),
    ("gnu.tar.gz", gnu_tar, EVERY),
    ("pandoc-docx", pandoc("docx", "docx"), EVERY),
    ("pandoc-odt", pandoc("odt", "odt"), EVERY),
    ("pandoc-epub-2", pandoc("epub2", "epub"), EVERY),
    ("pandoc-epub-3", pandoc("epub3", "epub"), EVERY),
    ("pandoc-rtf", pandoc("rtf", "rtf"), EVERY),
    ("pandoc-html-4", pandoc("html4", "html"), EVERY),
    ("pandoc-html-5", pandoc("html5", "html"), EVERY),
    ("pandoc-notebook", pandoc("ipynb", "ipynb"), EVERY),
    ("nbformat", nbformat, EVERY),
    ("libreoffice-docx", libreoffice("docx", "docx", EVERY), EVERY),
    ("libreoffice-odt", libreoffice("odt", "odt", EVERY), EVERY),
    ("libreoffice-rtf", libreoffice("rtf", "rtf", EVERY), EVERY),
    ("libreoffice-epub", libreoffice("epub", "epub", EVERY), EVERY),
    ("libreoffice-pdf", libreoffice("pdf:writer_pdf_Export", "pdf", ALPHABETIC), ALPHABETIC),
    ("libreoffice.xlsx", libreoffice_sheet("xlsx"), EVERY),
    ("libreoffice.ods", libreoffice_sheet("ods"), EVERY),
    ("ghostscript-pdf", ghostscript, OF["en"]),
    ("chromium-pdf", chromium, ALPHABETIC),
    ("reportlab-pdf", reportlab, OF["en"] + OF["de"]),
    ("openpyxl.xlsx", openpyxl, EVERY),
    ("xlsxwriter.xlsx", xlsxwriter, EVERY),
    ("odfpy.ods", odfpy, EVERY),
    ("pyarrow.parquet", parquet(), EVERY),
    ("pyarrow-groups.parquet", parquet(row_group_size=3, compression="zstd", data_page_version="2.0"), EVERY),
    ("pyarrow-file.arrow", arrow("file"), EVERY),
    ("pyarrow-stream.arrow", arrow("stream"), EVERY),
    ("pyarrow.feather", feather, EVERY),
    ("polars.parquet", polars("parquet"), EVERY),
    ("polars.arrow", polars("arrow"), EVERY),
]


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    twin = [{"id": IDS[number], "title": title, "paragraphs": paragraphs} for number, (_, title, paragraphs) in enumerate(TWIN)]
    (folder / "twin.json").write_text(json.dumps(twin, ensure_ascii=False), encoding="utf-8")
    listed, absent = [], []
    for name, write, numbers in FORMATS:
        try:
            path = write(folder / name)
        except (Absent, ModuleNotFoundError) as why:
            shutil.rmtree(folder / name, ignore_errors=True)
            absent.append(f"{name} ({why})")
            continue
        counts = isinstance(path, Path)
        listed.append({"path": str((path if counts else folder / name).relative_to(folder)), "documents": list(numbers), "counts": counts})
    for left in ("source", "profile", "chromium"):
        shutil.rmtree(folder / left, ignore_errors=True)
    (folder / "formats.json").write_text(json.dumps(listed), encoding="utf-8")
    print(f"{len(listed)} made; absent: {', '.join(absent) or 'none'}")


main()
