"""The command line: options in, one call, exit code out. Whatever is slow to import is imported inside commands."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, TypeVar

import click

from archscan import __version__
from archscan.errors import UserError

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

FORMATS = ("text", "json", "jsonl", "sarif", "html", "github", "markdown", "gitlab", "junit")
LAYERS = ("python", "jit", "build", "host", "preprocessor", "device", "binary")
LEVELS = ("blocked", "high", "medium", "low", "info")
EXIT_CODES = """\b
Exit codes, in every format:
  0  nothing at or above --fail-on
  1  findings
  2  a usage, config, rule or internal error; an input named explicitly that
     cannot be read; a directory with nothing to scan
"""
_CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
_Command = TypeVar("_Command", bound=Callable[..., Any])


class _Choice(click.Choice[str]):
    """One of some words; any other is answered with the nearest."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if value in self.choices:
            return str(value)
        from archscan.config import nearest_hint

        option = param.opts[0] if param is not None else "value"
        hint = nearest_hint(str(value), self.choices, "one of: " + ", ".join(self.choices))
        raise UserError(f"{option} cannot be '{value}'", hint)


class _Main(click.Group):
    """`scan` is the default: what is no command is a PATH or an option of scan."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if ctx.resilient_parsing and not args:  # the shell completes the first word: commands
            return super().parse_args(ctx, args)
        if not args or (args[0] not in self.commands and args[0] not in ("--help", "-h", "--version")):
            if args and not args[0].startswith("-") and not os.path.lexists(args[0]):
                self._refuse_typo(args[0])
            args = ["scan", *args]
        return super().parse_args(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Commands, and the options of the default command."""
        found = super().shell_complete(ctx, incomplete)
        if incomplete.startswith("-"):
            command = self.commands["scan"]
            found += command.shell_complete(click.Context(command, parent=ctx), incomplete)
        return found

    def _refuse_typo(self, word: str) -> None:
        close = get_close_matches(word, self.list_commands(click.Context(self)), n=1)
        if close:
            raise UserError(f"no such file, directory or command: {word}", f"did you mean `archscan {close[0]}`?")


@click.group(cls=_Main, epilog=EXIT_CODES, context_settings=_CONTEXT)
@click.version_option(__version__, prog_name="archscan", message="%(prog)s %(version)s")
def archscan() -> None:
    """Find the architecture gates in CUDA and Python code, and what they do to one GPU.

    `archscan --target sm120 PATH...` is short for `archscan scan --target sm120 PATH...`
    """


def _options(*decorators: Callable[[_Command], _Command]) -> Callable[[_Command], _Command]:
    """Several options as one decorator, in the order written."""

    def decorate(command: _Command) -> _Command:
        for decorator in reversed(decorators):
            command = decorator(command)
        return command

    return decorate


_target = click.option("--target", "-t", metavar="T", help="GPU to answer for: sm120, sm_120a, 12.0, product, native.")
_paths = click.argument("paths", nargs=-1, metavar="[PATH]...", type=click.Path())
_output = click.option("--output", "-o", metavar="FILE", help="Write there, all or nothing.")
_settings_source = _options(
    click.option("--config", metavar="FILE", help="Read settings from this file."),
    click.option("--isolated", is_flag=True, help="Read no config file."),
)
_reading = _options(
    click.option("--cuda", metavar="V", help="CUDA toolkit assumed.  [default: 13.0]"),
    click.option("-D", "define", multiple=True, metavar="NAME[=V]", help="Take this macro or variable as set."),
    click.option("-U", "undefine", multiple=True, metavar="NAME", help="Take this macro or variable as not set."),
    click.option("--exclude", multiple=True, metavar="PATTERN", help="Leave these paths out (.gitignore syntax)."),
    click.option("--include-vendored/--no-include-vendored", default=None, help="Report copies of other projects too."),
    click.option("--include-tests/--no-include-tests", default=None, help="Report tests too."),
    click.option("--rules", multiple=True, metavar="DIR", help="Read further rules and facts from DIR."),
    click.option("--cache/--no-cache", default=None, help="Keep what was read in the user's cache directory."),
    click.option("--cache-dir", metavar="DIR", help="Keep it there.  [env: ARCHSCAN_CACHE_DIR]"),
    click.option("-j", "--jobs", type=int, metavar="N", help="Processes to read with.  [default: one per core]"),
)
_choosing = _options(
    click.option("--against", multiple=True, metavar="T,...", help="GPUs to judge against.  [default: sm_80 and up]"),
    click.option("--problem", multiple=True, metavar="P", help="Only: excluded, over-admitted, disagrees."),
    click.option("--layer", multiple=True, metavar="L", help=f"Only: {', '.join(LAYERS)}."),
    click.option("--rule", multiple=True, metavar="ID", help="Only this rule; missing-*: all that begin so."),
    click.option("--ignore", multiple=True, metavar="ID", help="Not this rule."),
    click.option("--per-file-ignores", multiple=True, metavar="PATTERN:ID", help="Not this rule in these files."),
    click.option("--advice", multiple=True, metavar="A", help="Only findings with this advice: widen-safe, leave."),
    click.option("--min-severity", metavar="LEVEL", help="Report nothing less bad today.  [default: info]"),
    click.option("--min-risk", metavar="LEVEL", help="Report nothing less risky to open.  [default: info]"),
    click.option("--fail-on", metavar="LEVEL", help="Exit with 1 from this severity on; never.  [default: low]"),
    click.option("--include-leave/--no-include-leave", default=None, help="Show what is right as it is."),
    click.option("--baseline", metavar="FILE", help="Leave out the findings in FILE."),
    click.option("--since", metavar="REV", help="Only what is new, or answers differently, since this git revision."),
    click.option("--write-baseline", metavar="FILE", help="Write the findings to FILE and exit with 0."),
    click.option("--add-ignores", metavar="REASON", help="Write suppression comments for all that counts."),
    click.option("--context", multiple=True, metavar="WORD", help="What your machine is like: pcie, tp8."),
    click.option("--evidence", multiple=True, metavar="FILE", help="Evidence of your own."),
    click.option("--stdin-filename", metavar="NAME", help="What standard input is called."),
    click.option("--watch", is_flag=True, help="Scan again whenever a file changes, until interrupted."),
    click.option("--focus", is_flag=True, help="Read the project here, report what touches the PATHs (for hooks)."),
)
_showing = _options(
    click.option("--format", "-f", "format_", type=_Choice(FORMATS), default="text", show_default=True),
    _output,
    click.option(
        "--fixes/--no-fixes",
        default=None,
        help="With a proven fix for each finding that has one.  [default: json, sarif and html, up to 40 candidates]",
    ),
    click.option("--statistics", is_flag=True, help="Only how many findings each rule has (text, json)."),
    click.option("--show-files", is_flag=True, help="Only the files that would be read."),
    click.option("--all-gates", is_flag=True, help="JSON: every gate, over all targets."),
    click.option(
        "--limit", type=click.IntRange(min=0), default=40, metavar="N", help="Entries; 0: all.  [default: 40]"
    ),
    click.option("--sarif-root", metavar="DIR", help="SARIF: directory that paths are relative to."),
    click.option("--sarif-suppressed/--no-sarif-suppressed", default=None, help="SARIF: with suppressed findings."),
)
_manner = _options(
    click.option("--color", type=_Choice(("auto", "always", "never")), default="auto", show_default=True),
    click.option("-q", "--quiet", is_flag=True, help="One line a finding."),
    click.option("-v", "--verbose", is_flag=True, help="All reasons, evidence and places."),
)


_hyperlinks = click.option(
    "--hyperlinks",
    type=_Choice(("auto", "always", "never")),
    default="auto",
    show_default=True,
    help="Places as links that the terminal opens.",
)


@archscan.command(epilog=EXIT_CODES)
@_target
@_choosing
@_reading
@_showing
@_manner
@_hyperlinks
@_settings_source
@_paths
def scan(**given: Any) -> int:
    """Report what is wrong for one GPU, and where.

    A PATH is a directory, a file, a wheel or an sdist (read in place); - is standard input. Default: the current
    directory.
    """
    from archscan.commands.scan import run_scan

    return run_scan(given)


@archscan.command()
@click.option("--format", "-f", "format_", type=_Choice(("text", "json")), default="text", show_default=True)
@click.argument("names", nargs=-1, metavar="[T]...")
def targets(names: Sequence[str], format_: str) -> int:
    """List the known targets, or what T names.

    With their variants, products and limits.
    """
    from archscan.listing import show_targets

    return show_targets(names, format_)


@archscan.command()
@click.option("--rules", multiple=True, metavar="DIR", help="Read further rules and facts from DIR.")
@click.option("--format", "-f", "format_", type=_Choice(("text", "json")), default="text", show_default=True)
def rules(rules: Sequence[str], format_: str) -> int:
    """List the rules in the order in which they are asked."""
    from archscan.listing import show_rules

    return show_rules(rules, format_)


@archscan.command()
@click.option("--format", "-f", "format_", type=_Choice(("text", "json")), default="text", show_default=True)
@_settings_source
@_paths
def config(paths: Sequence[str], config: str | None, isolated: bool, format_: str) -> int:
    """Show the settings in force for PATH and their origin."""
    from archscan.listing import show_config

    return show_config(paths, config, isolated, format_)


@archscan.command()
@_target
@click.option("--format", "-f", "format_", type=_Choice(("text", "json")), default="text", show_default=True)
@_output
@_reading
@_settings_source
@click.argument("what", metavar="RULE|WORD|PATH:LINE|MESSAGE")
@_paths
def explain(**given: Any) -> int:
    """Print what a rule, a WORD, the gate at PATH:LINE or a MESSAGE is about.

    Of a gate it prints all that is known: who gets in and why, what each arm does and uses, what that means for the
    target, the advice and the row it comes from, evidence, and the fix. Its project is read from PATHs, by default
    from the working directory.

    Of an error MESSAGE, with PATHs, also where it is raised and which gates are the reason; with a target, which of
    them shut it out.
    """
    from archscan.commands.trace import run_explain

    return run_explain(given)


@archscan.command()
@_target
@click.option("--against", multiple=True, metavar="T,...", help="GPUs to judge against.  [default: sm_80 and up]")
@click.option("--format", "-f", "format_", type=_Choice(("text", "json", "sarif")), default="text", show_default=True)
@_output
@_reading
@_manner
@_settings_source
@click.argument("name")
@_paths
def trace(**given: Any) -> int:
    """Show the chain of gates behind a NAME.

    NAME is a Python function or module, a JIT spec, a kernel, a source file or an operator.
    """
    from archscan.commands.trace import run_trace

    return run_trace(given)


@archscan.command()
@_target
@click.option("--against", multiple=True, metavar="T,...", help="GPUs to judge against.  [default: sm_80 and up]")
@click.option("--format", "-f", "format_", type=_Choice(("text", "json")), default="text", show_default=True)
@_output
@_reading
@_settings_source
@click.argument("old", type=click.Path())
@click.argument("new", type=click.Path())
def diff(**given: Any) -> int:
    """Show what opened, closed and moved between two trees."""
    from archscan.commands.trace import run_diff

    return run_diff(given)


@archscan.command()
@_target
@click.option("--write", is_flag=True, help="Write the edits; without it they are only shown.")
@click.option("--unsafe", is_flag=True, help="Unsafe edits too: read the reasons first.")
@click.option("--family", is_flag=True, help="Open for the target's whole family.")
@click.option("--widen", is_flag=True, help="Allow an open lower bound.")
@click.option("--verify", is_flag=True, help="Compile what would open, with nvcc.")
@click.option("--on-gpu", is_flag=True, help="With --verify: run --harness before and after, on this GPU.")
@click.option("--harness", metavar="FILE", help="A .cu file with a main() that calls what the fix opens.")
@click.option("--rule", multiple=True, metavar="ID", help="Only this rule.")
@click.option("--chain", metavar="ID", help="Only this chain.")
@click.option("--path", multiple=True, metavar="GLOB", help="Only these files.")
@click.option("--apply", metavar="PLAN", help="Write a plan saved with --format json, below the PATHs.")
@click.option("--clear-caches", is_flag=True, help="Empty the JIT caches that became stale; they are listed.")
@click.option("--format", "-f", "format_", type=_Choice(("text", "json")), default="text", show_default=True)
@_output
@_reading
@click.option("--color", type=_Choice(("auto", "always", "never")), default="auto", show_default=True)
@_settings_source
@_paths
def fix(**given: Any) -> int:
    """Open or close gates, with a way back.

    Shows a diff, or writes it with --write.

    Exits with 1 while edits remain to be written or were held back.
    """
    from archscan.commands.fix import run_fix

    return run_fix(given)


@archscan.command()
@click.option("--force", is_flag=True, help="Even over later edits.")
@click.option("--list", "listed", is_flag=True, help="List the runs.")
@click.argument("run_id", metavar="[ID]", required=False)
def revert(run_id: str | None, force: bool, listed: bool) -> int:
    """Undo a fix run byte for byte, the latest by default.

    All of its files or none. A run that was interrupted is undone the same way; nothing else puts files back.
    """
    from archscan.commands.fix import run_revert

    return run_revert(run_id, force, listed)


@archscan.command()
@click.option("--target", "-t", "columns", multiple=True, metavar="T,...", help="Columns.  [default: sm_80 and up]")
@click.option("--format", "-f", "format_", type=_Choice(("text", "html")), default="text", show_default=True)
@_output
@click.option("--layer", multiple=True, metavar="L", help="Only: python, jit, build, host, preprocessor, device.")
@_reading
@_manner
@_settings_source
@_paths
def matrix(**given: Any) -> int:
    """Show gates against targets, as a table."""
    from archscan.commands.scan import run_matrix

    return run_matrix(given)


@archscan.command()
@_target
@click.option("--kernels", is_flag=True, help="Also what each kernel does: code, empty, trap, dead.")
@click.option("--format", "-f", "format_", type=click.Choice(("text", "json")), default="text", show_default=True)
@_output
@_paths
def images(**given: Any) -> int:
    """List the GPU images inside of libraries and wheels.

    With a target, what that GPU gets of each module: machine code of its own or of a relative, PTX to compile, or
    nothing. A PATH is a library (.so, .dll, .pyd, .a, .o, .cubin, .fatbin, .ptx), a directory or a wheel (read in
    place). Default: the current directory.
    """
    from archscan.commands.images import run_images

    return run_images(given)


@archscan.command()
@click.option("--for", "for_", metavar="T", help="What to set so that it is built for T.")
@click.option("--set", "set_", multiple=True, metavar="VAR=VALUE", help="Take this environment variable as set.")
@click.option("--prefix", metavar="DIR", help="Take in the CMake files of the torch installed there.")
@click.option(
    "--format", "-f", "format_", type=click.Choice(("text", "json", "matrix")), default="text", show_default=True
)
@_output
@_reading
@_settings_source
@_paths
def builds(**given: Any) -> int:
    """Show which images a build would make, and for which GPUs that is enough.

    Of each extension and target: what is compiled, where each number comes from, what is asked for and dropped.
    """
    from archscan.commands.builds import run_builds

    return run_builds(given)


@archscan.command()
@click.option(
    "--target", "-t", metavar="T,...", help="GPUs to answer for, each apart.  [default: those in this machine]"
)
@click.option("--python", multiple=True, metavar="PATH", help="The environment of this interpreter; it is not started.")
@click.option("--prefix", multiple=True, metavar="DIR", help="The virtual or conda environment in DIR.")
@click.option("--site-packages", multiple=True, metavar="DIR", help="The distributions in DIR.")
@click.option("--path", multiple=True, metavar="DIR", help="Those in DIR as well.")
@click.option("--local", is_flag=True, help="Not what the environment shares with the Python below it.")
@click.option("--for", "for_", multiple=True, metavar="DIST", help="Only DIST and what it needs.")
@click.option("-r", "requirement", multiple=True, metavar="FILE", help="Only what a file of requirements names.")
@click.option("--gates", is_flag=True, help="Scan the sources of each for gates: minutes, then remembered.")
@click.option("--matrix", is_flag=True, help="As a table: distributions against GPUs.")
@click.option(
    "--fail-on",
    type=_Choice(("high", "medium", "low", "never")),
    default="never",
    show_default=True,
    help="Exit with 1: high, if nothing of one loads; medium, in part; low, slow.",
)
@click.option("--cache/--no-cache", default=True, help="Keep what was read in the user's cache directory.")
@click.option("-j", "--jobs", type=int, default=0, metavar="N", help="Processes to read with.  [default: one per core]")
@click.option("--format", "-f", "format_", type=_Choice(("text", "json", "html")), default="text", show_default=True)
@_output
@click.argument("names", nargs=-1, metavar="[DIST|WHEEL]...")
def env(**given: Any) -> int:
    """Show what one GPU gets of everything installed.

    One row for each distribution with GPU code: what loads, what is compiled at first use, what fails, what to do. It
    is read from the files alone: nothing is imported, no interpreter is started, nothing goes online.

    A DIST opens its row: its sources and libraries are scanned, and the report follows. Wheels, and directories of
    wheels, are looked at as if they were installed together.

    Default: the active VIRTUAL_ENV or CONDA_PREFIX, else archscan's own Python, and the GPUs of this machine.
    """
    from archscan.commands.env import run_env

    return run_env(given)


_SECONDS = click.FloatRange(min=0, min_open=True)


@archscan.command()
@click.option("--list", "list_", is_flag=True, help="List the probes and what each settles; needs no GPU.")
@click.option("--compile-only", is_flag=True, help="Compile them for every target; needs no GPU.")
@click.option("--for", "for_", multiple=True, metavar="PATH", help="Only what is open in a scan of PATH.")
@click.option("--target", "-t", multiple=True, metavar="T", help="Without a GPU: only for these.")
@click.option("--json", "json_", metavar="FILE", help="Write what was found there, as evidence for scan --evidence.")
@click.option("--runs", type=click.IntRange(1, 100), default=5, metavar="N", show_default=True, help="Timed runs.")
@click.option("--seed", type=click.IntRange(min=0), metavar="N", help="Of the random input.  [default: random]")
@click.option("--device", type=click.IntRange(min=0), multiple=True, metavar="N", help="GPU to use.  [default: 0]")
@click.option("--yes", is_flag=True, help="Do not ask before more than one GPU is used.")
@click.option(
    "--time-limit",
    type=_SECONDS,
    default=600,
    metavar="S",
    show_default=True,
    help="Seconds for all probes.",
)
@click.option(
    "--time-limit-each",
    type=_SECONDS,
    default=60,
    metavar="S",
    show_default=True,
    help="Seconds for one.",
)
@click.argument("features", nargs=-1, metavar="[FEATURE]...")
def probe(**given: Any) -> int:
    """Run small kernels on your GPU, to settle what reading cannot.

    A FEATURE is the name of a probe or what it settles (see --list). Default: all. Each probe checks every word of its
    answer on random input and is timed against what the code would do without the feature, in a process of its own: a
    crash, an illegal instruction or a hang is a result. Nothing of the GPU's settings is changed.

    Exits with 1 where --compile-only finds that a target takes other code than the probes say.
    """
    from archscan.commands.probe import run_probe

    return run_probe(given)


@archscan.command()
@click.option("--declared", multiple=True, metavar="ARCH,...", help="What it is meant for: sm_80,9.0a,120f,compute_90.")
@click.option(
    "--print-variant", is_flag=True, help="Print the properties of wheel variants that its libraries bear out."
)
@click.option("--gates/--no-gates", default=True, help="Scan the sources for each declared GPU too.  [default: gates]")
@click.option(
    "--fail-on",
    type=_Choice(("high", "medium", "low", "never")),
    default="low",
    show_default=True,
    help="Exit with 1 from this level on.",
)
@click.option("--format", "-f", "format_", type=_Choice(("text", "json", "sarif")), default="text", show_default=True)
@_output
@_reading
@_settings_source
@_paths
def check(**given: Any) -> int:
    """Compare what is declared with what is built, for CI.

    Every library, architecture list and gate of the PATHs (a project, an installed tree, a wheel) against a set of
    architectures: a declared GPU that gets no code, PTX for later GPUs that is missing, code for what is not declared,
    gates that shut a declared GPU out. Without --declared it is what the wheel says of itself: in the variant.json of
    wheel variants, in a cpp_lib.json, or in torch's own list.
    """
    from archscan.commands.check import run_check

    return run_check(given)


@archscan.command()
@_target
@_settings_source
def lsp(**given: Any) -> int:
    """Serve an editor over standard input and output.

    Diagnostics for the target on open and save, hover on a gate, code actions for fixes and suppressions, and the
    gates of a chain as definitions and references. Without --target, it is that of `initializationOptions`, else of
    the config file. Needs `pip install "archscan[lsp]"`.
    """
    from archscan.commands.lsp import run_lsp

    return run_lsp(given)


@archscan.command()
@click.option("--clear", is_flag=True, help="Remove everything in it.")
def cache(clear: bool) -> int:
    """Show what the cache holds, or clear it."""
    from archscan.listing import show_cache

    return show_cache(clear)


def main() -> None:
    """Runs the command line and exits, without the cycle collector: it would walk a million facts to free nothing."""
    gc.disable()
    code = run(sys.argv[1:])
    gc.freeze()  # nor when the interpreter ends
    sys.exit(code)


def run(arguments: Sequence[str]) -> int:
    """The exit code of a command line; errors are said on standard error."""
    cache_dir = os.environ.get("ARCHSCAN_CACHE_DIR")
    try:
        code = archscan.main(list(arguments), prog_name="archscan", standalone_mode=False)
        return int(code or 0)
    except UserError as error:
        return _complain(error.title, error.hint)
    except click.UsageError as error:
        command = error.ctx.command_path if error.ctx else "archscan"
        return _complain(error.format_message(), f"`{command} --help` lists what it takes")
    except click.ClickException as error:
        return _complain(error.format_message(), "")
    except (KeyboardInterrupt, click.Abort):
        click.echo("interrupted", err=True)
        return 130
    except OSError as error:
        return _complain(f"{error.filename or 'output'}: {error.strerror or error}", "")
    except Exception as error:
        return _ours(error)
    finally:  # --cache-dir holds for one run
        os.environ.pop("ARCHSCAN_CACHE_DIR", None)
        if cache_dir is not None:
            os.environ["ARCHSCAN_CACHE_DIR"] = cache_dir


def _complain(title: str, hint: str) -> int:
    from archscan.reporting.words import visible

    click.echo(f"error: {visible(title)}", err=True)
    if hint:
        click.echo(f"hint: {visible(hint)}", err=True)
    return 2


def _ours(error: Exception) -> int:
    """A bug: what happened, for the report we ask for."""
    import traceback

    click.echo(traceback.format_exc(), err=True, nl=False)
    click.echo(f"error: archscan {__version__} failed: {type(error).__name__}", err=True)
    click.echo("hint: this is a bug in archscan; please report it with the lines above", err=True)
    return 2
