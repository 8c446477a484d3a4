"""A language model behind an OpenAI-compatible endpoint."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from solbench.errors import DeviceError, InputError, MissingExtra

KEY_VARIABLES = ("SOLBENCH_LLM_API_KEY", "OPENAI_API_KEY")
URL_VARIABLES = ("SOLBENCH_LLM_BASE_URL", "OPENAI_BASE_URL")
MODEL_VARIABLE = "SOLBENCH_LLM_MODEL"
TIMEOUT_S = 120.0


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where to ask, and whom."""

    base_url: str
    model: str
    key: str

    def ask(self, question: str | Sequence[Mapping[str, str]], *, as_json: bool = False) -> str:
        """One answer to a question, or to messages with their roles; with ``as_json`` a JSON object is wanted.

        Raises ``MissingExtra`` without the client, ``DeviceError`` if nothing answers.
        """
        alone = isinstance(question, str)
        messages: Any = [{"role": "user", "content": question}] if alone else question
        wanted: Any = {"response_format": {"type": "json_object"}} if as_json else {}
        try:
            import openai
        except ImportError as error:
            raise MissingExtra("openai", "llm", error) from error
        client = openai.OpenAI(
            base_url=self.base_url, api_key=self.key, timeout=TIMEOUT_S, max_retries=1
        )
        try:
            reply = client.chat.completions.create(model=self.model, messages=messages, **wanted)
        except openai.OpenAIError as error:
            raise DeviceError(f"{self.base_url} did not answer: {error}") from None
        finally:
            client.close()
        return (reply.choices[0].message.content if reply.choices else None) or ""


def endpoint(
    base_url: str | None = None, model: str | None = None, *, prefix: str = "--"
) -> Endpoint:
    """From the arguments, else from the environment; the key from the environment only.

    ``prefix``: what stands before ``base-url`` and ``model`` where a user gives them.

    Raises ``InputError`` that names what is missing.
    """
    url = base_url or _first(URL_VARIABLES)
    chosen = model or os.environ.get(MODEL_VARIABLE, "")
    key = _first(KEY_VARIABLES)
    if not url:
        raise InputError(
            "there is no endpoint to ask",
            key=f"{prefix}base-url",
            remedy=f"Give the URL of any OpenAI-compatible endpoint, or set {URL_VARIABLES[0]}.",
        )
    if not chosen:
        raise InputError(
            "no model is named", key=f"{prefix}model", remedy=f"Name one, or set {MODEL_VARIABLE}."
        )
    if not key:
        raise InputError(
            f"no key for {url}",
            key=KEY_VARIABLES[0],
            remedy="Set this variable; for a local endpoint that needs none, to anything.",
        )
    return Endpoint(url, chosen, key)


def _first(names: tuple[str, ...]) -> str:
    return next((os.environ[name] for name in names if os.environ.get(name)), "")
