"""Let the tests of this folder import its helper (under importlib mode no folder is on the path)."""

import sys
from pathlib import Path

import torch

sys.path.append(str(Path(__file__).parent))
# Small tensors and parallel test processes: a second thread would only wait for the first.
torch.set_num_threads(1)
