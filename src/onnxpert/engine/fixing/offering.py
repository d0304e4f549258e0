"""What a search found, proven before it is offered; or why it is not."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from onnxpert.core import deadline
from onnxpert.core.types import Safety, replace
from onnxpert.engine.fixing.plain import (
    agree,
    catches_sometimes,
    learn_alike,
    refused_by_itself,
    unlike,
)
from onnxpert.engine.fixing.searching import Search
from onnxpert.engine.fixing.unproven import reasons
from onnxpert.load.substitutes import substituted
from onnxpert.repair.codemod import Codemod
from onnxpert.repair.rewriting import Contents, diff
from onnxpert.report import Report

_MANY = 64  # draws of values, before a change is offered
_PROOF = 20.0  # seconds of this thread's, and what the search left of its own
_UNAIDED = "no codemod makes onnxpert follow it"
_CAUGHT = "an error is caught at some values, which no file does"
_LONG = "an export takes too long"
_UNLIKE = "the model does not run as before"
_LEARNS = (
    "in training its weights get other gradients than before: "
    "what was a number has one now, and the side of a choice that is not taken"
)
_ELSE = f"{_UNLIKE}: it computes something else at other values"


@dataclass(frozen=True, slots=True)
class Fixed:
    """What came of it; `diff` is empty where nothing is offered."""

    before: Report  # of the model as it is, with the diff at each finding that it cures
    after: Report | None  # of the model as it would be
    diff: str = ""
    contents: Contents = field(default_factory=dict)
    codemods: tuple[tuple[str, str], ...] = ()  # name, and what it does
    plain: bool = False  # torch.onnx.export takes it by itself
    consented: tuple[str, ...] = ()  # codemods that change what is computed
    notes: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        return 0 if self.diff or self.before.ok or self.plain else 1


def best_proven(search: Search, sound: list[Codemod], kept: list[Codemod]) -> Fixed:
    fixed = proven(search, kept)
    if fixed.plain or kept == sound:
        return fixed
    # torch may follow a model and yet write a constant where there should be none
    if (fixed.diff or fixed.before.ok) and (search.is_late or not search.is_traced(sound)):
        return fixed
    whole = proven(search, sound)
    return whole if whole.plain or not (fixed.diff or fixed.before.ok) else fixed


def proven(search: Search, kept: list[Codemod]) -> Fixed:
    if not kept:
        plain, notes = search.as_it_is.plain, (_why_not(search), *search.as_it_is.warnings())
        return Fixed(search.before, None, plain=plain, notes=notes)
    new = search.files(kept)
    hopeless = search.hopeless.get(tuple(new.values()))
    if hopeless is not None:
        return _not_offered(search, kept, "", [hopeless])
    if not _computes_the_same(search, kept):
        fewer = (search.without(kept, each) for each in reversed(kept))
        sound = next((each for each in fewer if each and _computes_the_same(search, each)), None)
        return proven(search, sound) if sound else _not_offered(search, kept, _ELSE, [])
    with deadline.at_most(max(_PROOF, _PROOF + search.until - time.thread_time())):
        tried = search.job.tried(new, search.job.request(search.job.load(search.baseline(kept))))
        cut = deadline.is_over()
    refusal = _refusal(search, new)
    if refusal and _refusal(search, search.contents):
        refusal = ""  # it never ran
    if cut and not (tried.proven or tried.plain):
        return _not_offered(search, kept, _LONG, [])
    why = f"{_UNLIKE}: {refusal}" if refusal else _caught(search, new)
    if why or not (tried.proven or tried.plain):
        ours = [each for each in (tried.report, tried.against) if each is not None]
        return _not_offered(search, kept, why, ours)
    left = () if tried.report.ok else ("onnxpert still has something to say, see its findings",)
    return Fixed(
        before=_with_diffs(search, tried.report, kept),
        after=tried.report,
        diff=diff(search.contents, new),
        contents=new,
        codemods=tuple((each.name, each.about.splitlines()[0]) for each in kept),
        plain=tried.plain,
        consented=tuple(each.name for each in kept if each.safety is not Safety.SAFE),
        notes=(*left, *_elsewhere(search, kept), *tried.warnings()),
    )


def _elsewhere(search: Search, kept: list[Codemod]) -> Iterator[str]:
    """At which values, that the code does not look for, something else is computed now; or learnt."""
    values = _unlike(search, kept)
    if values:
        names = [each.name for each in kept if not _unlike(search, search.without(kept, each))]
        whose = f", by {' with '.join(names)}" if names else ""
        yield f"where an input has {' or '.join(values)} it computes something else than before{whose}"
    texts = (search.baseline(kept), search.files(kept))
    if not learn_alike(*map(search.job.load, texts)):
        yield _LEARNS


def _unlike(search: Search, chosen: list[Codemod]) -> list[str]:
    texts = (search.baseline(chosen), search.files(chosen))
    return [*unlike(*map(search.job.load, texts))]


def _not_offered(
    search: Search, kept: list[Codemod], refusal: str, ours: Sequence[Report]
) -> Fixed:
    tale = reasons([each.name for each in kept], refusal, ours)
    needless = (_why_not(search),) if search.before.ok else ()
    return Fixed(search.before, ours[0] if ours else None, notes=(*needless, *tale))


def _computes_the_same(search: Search, kept: list[Codemod]) -> bool:
    """At many more values than those that the search asks: a run costs little beside an export."""
    texts = (search.baseline(kept), search.files(kept))
    return agree(*(search.job.outcomes(each, _MANY) for each in texts))


def _refusal(search: Search, contents: Contents) -> str:
    """How the model as these files have it refuses to run, with its module there to look names up."""
    with substituted(contents):
        return refused_by_itself(search.job.load())


def _caught(search: Search, contents: Contents) -> str:
    sometimes = catches_sometimes(search.job.load(contents), {str(path) for path in contents})
    return _CAUGHT if sometimes else ""


def _with_diffs(search: Search, after: Report, kept: list[Codemod]) -> Report:
    """Each finding that is gone, with the change that is meant for its rule."""
    left = {(finding.rule, finding.message) for finding in after.findings}
    changes = {
        rule: diff(search.contents, search.files([each]))
        for each in reversed(kept)
        for rule in each.cures
    }
    findings = tuple(
        replace(finding, diff=changes[finding.rule])
        if finding.rule in changes and (finding.rule, finding.message) not in left
        else finding
        for finding in search.before.findings
    )
    return replace(search.before, findings=findings)  # type: ignore[no-any-return]


def _why_not(search: Search) -> str:
    if search.before.ok and search.goal.traced:
        return "nothing to mend: onnxpert exports the model as it is"
    if search.before.ok:
        return (
            "nothing to mend for onnxpert, which exports the model as it is; "
            "no codemod makes torch.export follow it"
        )
    if search.as_it_is.plain:
        return "nothing to mend for torch.onnx.export, which takes the model as it is; " + _UNAIDED
    return "no codemod helps here: see the findings for what to change by hand"
