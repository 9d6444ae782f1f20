"""Networks of users: trained as a plain PyTorch loop trains them, or refused in one line."""

import textwrap

import pytest
import torch
from conftest import NETWORK_FOLDERS  # noqa: F401
