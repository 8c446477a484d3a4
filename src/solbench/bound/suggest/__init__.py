"""Rules written by a language model, tried behind walls before anybody uses them."""

from solbench.bound.suggest._behind_walls import lifted_documents
from solbench.bound.suggest._emulate import Jail, Verdict, verdict
from solbench.bound.suggest._endpoint import Endpoint, endpoint
from solbench.bound.suggest._samples import sample_calls
from solbench.bound.suggest._static import complaints
from solbench.bound.suggest._suggest import Suggestion, suggest_rule

__all__ = [
    "Endpoint",
    "Jail",
    "Suggestion",
    "Verdict",
    "complaints",
    "endpoint",
    "lifted_documents",
    "sample_calls",
    "suggest_rule",
    "verdict",
]
