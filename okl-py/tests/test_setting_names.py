"""The names of settings that Python lists are those that the engine accepts."""

import re
from typing import get_args

import okl
import pytest
from okl import _settings

# Kernels made of other kernels are written as a dict.
NESTED = {"scaled", "sum", "product"}


def accepted(setting):
    """The names that the engine lists when it refuses one."""
    with pytest.raises(ValueError, match="choose one of") as error:
        okl.Learner(**{setting: "?"})
    return set(re.split(r",\s*", str(error.value).split("choose one of ")[1].strip())) - NESTED


@pytest.mark.parametrize("setting", ["kernel", "loss", "step", "budget"])
def test_types_list_the_names_of_the_engine(setting):
    assert set(get_args(getattr(_settings, setting.capitalize()))) == accepted(setting)


@pytest.mark.parametrize("setting", ["kernel", "loss", "step", "budget", "average"])
def test_help_names_every_name(setting):
    missing = {name for name in accepted(setting) if name not in okl.Learner.__doc__}
    assert not missing
