"""Asks tests, each in a process of its own, whether they see a mutant."""
import array, collections, contextlib, dataclasses, math, os, pathlib, resource, select, shutil, signal, subprocess, tempfile, time

MOST = {resource.RLIMIT_AS: 6 << 30, resource.RLIMIT_FSIZE: 1 << 30, resource.RLIMIT_CORE: 0}


@dataclasses.dataclass
class Test:
    program: pathlib.Path
    name: str
    seconds: float = 0  # of a processor
    wall: float = 0
    reached: frozenset = frozenset()
    asked: int = 0
    saw: int = 0

    def __str__(self):
        return f"{self.program.name.rsplit('-', 1)[0]} {self.name}"


class Asker:
    def __init__(self, folder, temporary):
        self.folder, self.temporary = folder, temporary
        # Inputs that failed under one mutant must not be tried under the next, nor shrunk; the same are drawn for all, so that a
        # second run says the same.
        self.environment = dict(os.environ, PROPTEST_DISABLE_FAILURE_PERSISTENCE="1", PROPTEST_MAX_SHRINK_ITERS="0", PROPTEST_RNG_SEED="1",
                                CARGO_MANIFEST_DIR=str(folder), RUST_BACKTRACE="0")
        for name in ["COUNTGRID_MUTANT", "COUNTGRID_MUTANTS_REACHED"]:
            self.environment.pop(name, None)

    def run(self, test, limit=None, **variables):
        """How the test ended: nothing if it passed; the processor's seconds, and those of the clock."""
        temporary = tempfile.mkdtemp(dir=self.temporary)
        environment = dict(self.environment, TMPDIR=temporary, **variables)
        begin = time.monotonic()
        process = subprocess.Popen([test.program, "--exact", test.name], cwd=self.folder, env=environment, start_new_session=True,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        cpu, wall = limit or (600, 600)
        try:
            with contextlib.suppress(ProcessLookupError):
                resource.prlimit(process.pid, resource.RLIMIT_CPU, (cpu, cpu + 1))
            descriptor = os.pidfd_open(process.pid)
            ended = select.select([descriptor], [], [], wall)[0]
            while not ended and is_running(process.pid):  # slowly, beside other work: the processor's seconds are what counts
                ended = select.select([descriptor], [], [], 1)[0]
            os.close(descriptor)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            shutil.rmtree(temporary, ignore_errors=True)
        how = None
        if not ended or process.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
            how = "does not end"
        elif process.returncode < 0:
            how = signal.Signals(-process.returncode).name
        elif process.returncode:
            how = "fails"
        return how, usage.ru_utime + usage.ru_stime, time.monotonic() - begin

    def tests(self, programs):
        for program in programs:
            listed = [subprocess.run([program, "--list", "--format", "terse", *ignored], cwd=self.folder, env=self.environment, check=True,
                                     stdout=subprocess.PIPE, text=True).stdout.splitlines() for ignored in ([], ["--ignored"])]
            for line in listed[0]:
                if line.endswith(": test") and line not in listed[1]:
                    yield Test(program, line.removesuffix(": test"))

    def measure(self, test):
        """Which mutants the test reaches, in two runs, and how long it takes without; says why if it cannot be asked."""
        with tempfile.TemporaryDirectory(dir=self.temporary) as folder:
            file = pathlib.Path(folder, "reached")
            for variables in [dict(COUNTGRID_MUTANTS_REACHED=str(file))] * 2 + [{}]:
                how, test.seconds, test.wall = self.run(test, **variables)
                if how:
                    return how
            numbers = array.array("I")
            if file.exists():
                numbers.frombytes(file.read_bytes())
            test.reached = frozenset(numbers)

    def see(self, number, tests):
        """The test that sees a mutant and how, if there is one, and how many were asked: those first that are quick or see many."""
        order = sorted(tests, key=lambda test: (test.wall + 0.005) * (test.asked + 2) / (test.saw + 1))
        for asked, test in enumerate(order, 1):
            limit = math.ceil(5 * test.seconds) + 2, 5 * test.wall + 20
            how, _, _ = self.run(test, limit, COUNTGRID_MUTANT=str(number))
            test.asked += 1
            if how:
                test.saw += 1
                return test, how, asked
        return None, None, len(order)


def is_running(process):
    """Whether a thread runs or would if there were a processor for it; looks several times."""
    for _ in range(20):
        for path in pathlib.Path(f"/proc/{process}/task").glob("*/stat"):
            with contextlib.suppress(OSError):
                if path.read_text().rpartition(")")[2].split()[0] in "RD":
                    return True
        time.sleep(0.1)
    return False


def by_number(tests):
    found = collections.defaultdict(list)
    for test in tests:
        for number in test.reached:
            found[number].append(test)
    return found


@contextlib.contextmanager
def limited():
    """Processes that are started meanwhile get no more memory and write no longer files than this, so that no mutant takes the machine."""
    before = {which: resource.getrlimit(which) for which in MOST}
    for which, most in MOST.items():
        resource.setrlimit(which, (most, before[which][1]))
    try:
        yield
    finally:
        for which, limits in before.items():
            resource.setrlimit(which, limits)
