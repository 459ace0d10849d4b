"""From the setting `verify.judge` to a judge: `local`, `llm`, `hf:NAME_OR_FOLDER` or `verbatim`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from veridical.errors import ConfigError

if TYPE_CHECKING:
    from veridical.ports import Generator, Judge
    from veridical.settings import Settings


def choose_judge(settings: Settings, generator: Generator | None) -> Judge:
    """Raises ConfigError for an unknown name, or for `llm` without a language model. Weights load on first use."""
    kind, _, rest = settings.verify.judge.partition(":")
    if settings.verify.judge == "local":
        from veridical.models.judge import LocalJudge

        return LocalJudge()
    if settings.verify.judge == "verbatim":
        from veridical.models.verbatim import Verbatim

        return Verbatim()
    if settings.verify.judge == "llm":
        return _language_model(settings, generator)
    if kind == "hf" and rest.strip():
        from veridical.models.judge_hf import HfJudge

        return HfJudge(rest.strip(), download=settings.verify.download)
    raise ConfigError(
        f"there is no judge named {settings.verify.judge!r}",
        fix="set verify.judge to local, llm, hf:NAME_OR_FOLDER or verbatim",
    )


def _language_model(settings: Settings, generator: Generator | None) -> Judge:
    from veridical.models.judge_llm import LlmJudge

    if generator is None:
        raise ConfigError(
            f"verify.judge is llm, and llm = {settings.llm!r} is no language model",
            fix="choose one (--llm smollm2 or --llm openai:MODEL), or set verify.judge to local",
        )
    return LlmJudge(generator, settings.verify.votes, settings.openai.concurrency)
