"""The examples of the package's documentation and of README.md run, and the stubs name what there is."""

import ast
import doctest
import inspect
from pathlib import Path

import pytest

import countgrid
from countgrid import _classifier, _core, _features, _grids, _harmonium, _sequences, _text, _topics, _topographic

HERE = Path(__file__).parent


MODULES = [countgrid, _grids, _topics, _topographic, _harmonium, _sequences, _features, _classifier, _text]


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_examples_of_docstrings(module):
    found = doctest.testmod(module, raise_on_error=False)
    assert found.failed == 0 and found.attempted > 0


def test_examples_of_the_readme(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = doctest.testfile(str(HERE.parent / "README.md"), module_relative=False, encoding="utf-8")
    assert found.failed == 0 and found.attempted > 0


def test_examples_of_the_guide(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    guide = HERE.parent.parent.parent / "docs" / "guide" / "python.md"
    found = doctest.testfile(str(guide), module_relative=False, encoding="utf-8")
    assert found.failed == 0 and found.attempted > 0


def test_stubs_name_what_there_is():
    stubs = ast.parse((Path(countgrid.__file__).parent / "_core.pyi").read_text(encoding="utf-8"))
    named = {}
    for node in stubs.body:
        if isinstance(node, ast.ClassDef):
            named[node.name] = {inner.name for inner in node.body if isinstance(inner, ast.FunctionDef)}
        elif isinstance(node, ast.FunctionDef):
            named[node.name] = [argument.arg for argument in node.args.args]
    public = {name for name in vars(_core) if not name.startswith("_")}
    assert public == set(named)
    for name, members in named.items():
        if inspect.isclass(getattr(_core, name)):
            there = {member for member in vars(getattr(_core, name)) if not member.startswith("_")}
            assert there == {member for member in members if not member.startswith("_")}
        else:
            assert list(inspect.signature(getattr(_core, name)).parameters) == members


def test_everything_public_is_documented():
    for name in countgrid.__all__:
        thing = getattr(countgrid, name)
        assert thing.__doc__
        for member, value in vars(thing).items() if inspect.isclass(thing) else ():
            if not member.startswith("_") and (callable(value) or isinstance(value, property)):
                assert value.__doc__, f"{name}.{member}"
