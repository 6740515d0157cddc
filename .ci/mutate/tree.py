"""A copy of the tree in which one crate has all its mutants, each behind a switch, and its test programs."""
import hashlib, json, os, pathlib, subprocess, sys

SWITCH = pathlib.PurePath(".ci/mutate/switch")
HOPELESS = {"does not parse", "joins a `let`"}  # for which the compiler need not be asked
# In a change itself an error is that of the mutant, unless the mutant is borrowed or typed in another way when it is alone.
DOUBTFUL = {"E0373", "E0381", "E0382", "E0493", "E0499", "E0502", "E0503", "E0505", "E0506", "E0507", "E0515", "E0521", "E0597", "E0621",
            "E0658", "E0700", "E0712", "E0716"}


class Tree:
    def __init__(self, root, target):
        self.root, self.target, self.folder = root, target, target / "tree"
        self.folder.mkdir(parents=True, exist_ok=True)
        shared = target / "shared"  # `../shared` of the copy is that of the tree
        if not shared.is_symlink():
            shared.symlink_to(root.parent / "shared")
        tool = ["cargo", "build", "--quiet", "--locked", "--manifest-path", root / ".ci/mutate/Cargo.toml", "--target-dir", target / "tool"]
        subprocess.run(tool, check=True)
        self.tool = target / "tool/debug/mutate"

    def copy(self, without=()):
        """Makes the copy as the tree is, but for files that are written in another way; others stay untouched if they are the same."""
        listed = subprocess.run(["git", "ls-files", "-z"], cwd=self.root, check=True, stdout=subprocess.PIPE, text=True).stdout
        wanted = {self.folder / name: self.root / name for name in listed.split("\0") if name and (self.root / name).is_file()}
        for to, source in wanted.items():
            if str(to.relative_to(self.folder)) not in without:
                self.write(to, source.read_bytes())
        for folder, _, names in os.walk(self.folder):
            for path in (pathlib.Path(folder, name) for name in names):
                if path not in wanted and path.relative_to(self.folder) != pathlib.PurePath("Cargo.lock"):
                    path.unlink()
        for folder, _, _ in os.walk(self.folder, topdown=False):
            if not os.listdir(folder):
                os.rmdir(folder)
        return self.folder

    def write(self, path, content):
        if not path.is_file() or path.read_bytes() != content:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)

    def digest(self):
        """Of what decides which mutants there are and what the tests say."""
        listed = subprocess.run(["git", "ls-files", "-z", "crates", "Cargo.toml", "Cargo.lock", ".ci/mutate/src", SWITCH, ".ci/mutants.toml"],
                                cwd=self.root, check=True, stdout=subprocess.PIPE, text=True).stdout
        paths = [self.root / name for name in listed.split("\0") if name]
        return hashlib.sha256(b"".join(hashlib.sha256(path.read_bytes()).digest() for path in paths if path.is_file())).hexdigest()

    def switched(self, crate, mutants, refused, arguments):
        """Compiles the tests with as many mutants as can be switched; gives the programs, and the number of each mutant in them.

        `refused` is by name; what the compiler refuses is added to it, each with whether the mutant itself is wrong, and why.
        """
        self.copy(without={mutant["file"] for mutant in mutants})
        member = self.folder / "crates/mutant-switch"
        for name in ["Cargo.toml", "src/lib.rs"]:
            self.write(member / name, (self.root / SWITCH / name).read_bytes())
        manifest = (self.root / f"crates/{crate}/Cargo.toml").read_text()
        head, tail = manifest.split("[dependencies]\n", 1) if "[dependencies]\n" in manifest else (manifest + "\n", "")
        dependency = '[dependencies]\nmutant_switch = { path = "../mutant-switch" }\n'
        self.write(self.folder / f"crates/{crate}/Cargo.toml", (head + dependency + tail).encode())
        while True:
            asked = [mutant for mutant in mutants if mutant["name"] not in refused]
            task = json.dumps({"from": str(self.root), "to": str(self.folder), "mutants": asked})
            answered = subprocess.run([self.tool], input=task, check=True, stdout=subprocess.PIPE, text=True)
            places = {mutant["name"]: place for mutant, place in zip(asked, json.loads(answered.stdout))}
            for name, place in list(places.items()):
                if "reason" in place:
                    refused[name] = (place["reason"] in HOPELESS, place["reason"])
                    del places[name]
            for file in {mutant["file"] for mutant in mutants} - {place["file"] for place in places.values()}:
                self.write(self.folder / file, (self.root / file).read_bytes())
            errors, programs = self.build(crate, arguments)
            if not errors:
                return programs, places
            before = len(refused)
            for error in errors:
                for name, inside in blamed(error, places):
                    wrong = inside and is_wrong(error)
                    refused.setdefault(name, (wrong, f"{(error['code'] or {}).get('code', 'error')}: {error['message']}"))
            print(f"{crate}: {len(refused) - before} more are not compiled, of {len(mutants)}", file=sys.stderr, flush=True)
            if len(refused) == before:
                sys.exit("\n".join([*(error["rendered"] for error in errors), f"{crate}: no mutant is to blame"]))

    def build(self, crate, arguments):
        """The errors of the compiler, and the test programs if there are none."""
        command = ["cargo", "test", "--no-run", "--tests", "--all-features", "--offline", "-p", f"countgrid-{crate}"]
        command += ["--message-format=json", "--target-dir", self.target / "build", *arguments]
        environment = dict(os.environ, RUSTC_BOOTSTRAP="mutant_switch", CARGO_INCREMENTAL="0")
        ran = subprocess.run(command, cwd=self.folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        errors, programs = [], []
        for message in map(json.loads, ran.stdout.splitlines()):
            if message["reason"] == "compiler-message" and message["message"]["level"] == "error" and message["message"]["spans"]:
                errors.append(message["message"])
            elif message["reason"] == "compiler-artifact" and message["executable"] and message["profile"]["test"]:
                programs.append(pathlib.Path(message["executable"]))
        if ran.returncode and not errors:
            sys.exit(f"{ran.stderr}\n{crate}: the tests do not compile")
        return errors, programs


def spans(message, primary):
    for span in message["spans"]:
        if span["is_primary"] or not primary:
            while span:
                yield span
                span = span["expansion"] and span["expansion"]["span"]
    if not primary:
        for child in message["children"]:
            yield from spans(child, False)


def blamed(error, places):
    """The mutants that an error is in, and whether it is in the change itself; else those that it mentions, is around, or is next to."""
    for primary in [True, False]:
        for span in spans(error, primary):
            inside = [name for name, place in places.items() if within(span, place, "change")]
            if inside:
                return [(name, primary) for name in inside]
    for span in spans(error, False):
        sites = {name: place["site"][1] - place["site"][0] for name, place in places.items() if within(span, place, "site")}
        if sites:
            return [(name, False) for name, length in sites.items() if length == min(sites.values())]
    for span in spans(error, True):
        sites = {name: place["site"][0] - span["byte_start"] for name, place in places.items() if place["file"] == span["file_name"]}
        around = [name for name, distance in sites.items() if 0 <= distance <= span["byte_end"] - span["byte_start"]]
        near = [name for name, distance in sites.items() if abs(distance) == min(map(abs, sites.values()))]
        if around or near:
            return [(name, False) for name in around or near]
    return []


def within(span, place, what):
    start, end = place[what]
    return span["file_name"] == place["file"] and start <= span["byte_start"] and span["byte_end"] <= end


def is_wrong(error):
    return (error["code"] or {}).get("code") not in DOUBTFUL and "incompatible types" not in error["message"]
