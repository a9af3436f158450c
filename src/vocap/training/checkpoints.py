"""Checkpoints that survive a kill at any moment: complete folders, renamed into place;
the last two are kept.

`step-N/` holds the state of the run before step N (counted from 0):
`model.safetensors`, `optimizer.safetensors`, further tensors of the training (such as
k-NN's index in `loss.safetensors`) and `state.json` (counters, settings). Nothing is
pickled.
"""

import json
import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.optim import Optimizer

from vocap.errors import VocapError
from vocap.files.io import replacing_directory, write_text

KEPT = 2
STATE = "state.json"
FOLDER = re.compile(r"step-(\d+)")


def save(
    folder: Path, step: int, tensors: Mapping[str, Mapping[str, Tensor]], state: Mapping[str, Any]
) -> None:
    """Write the checkpoint of a step, then remove all but the last `KEPT`. `tensors`:
    by name of their file.
    """
    with replacing_directory(folder / f"step-{step}") as temporary:
        for name, group in tensors.items():
            path = temporary / f"{name}.safetensors"
            save_file({key: tensor.contiguous() for key, tensor in group.items()}, path)
            _sync(path)
        write_text(temporary / STATE, json.dumps({**state, "step": step}))
        _sync(temporary)
    _sync(folder)
    for older in steps(folder)[:-KEPT]:
        shutil.rmtree(folder / f"step-{older}")


def remove_all(folder: Path) -> None:
    """Remove every checkpoint, the latest last: a kill at any moment leaves it
    complete, or removes all.
    """
    for step in steps(folder):
        removed = folder / f".removed-{step}"
        shutil.rmtree(removed, ignore_errors=True)
        os.replace(folder / f"step-{step}", removed)
        shutil.rmtree(removed)


def _sync(path: Path) -> None:
    """Flush a file, or the entries of a folder, to the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def steps(folder: Path) -> list[int]:
    """The steps that have a checkpoint, rising."""
    names = (FOLDER.fullmatch(path.name) for path in folder.iterdir()) if folder.is_dir() else ()
    return sorted(int(name[1]) for name in names if name)


def clean(folder: Path) -> None:
    """Remove the unfinished folders of a killed run."""
    for path in (*folder.glob(".step-*.part"), *folder.glob(".removed-*")):
        shutil.rmtree(path)


def latest(folder: Path) -> Path | None:
    """The folder of the last checkpoint; None without any."""
    found = steps(folder)
    return folder / f"step-{found[-1]}" if found else None


def load_state(checkpoint: Path) -> dict[str, Any]:
    """The content of its state.json."""
    return dict(json.loads((checkpoint / STATE).read_bytes()))


def load_tensors(checkpoint: Path, name: str) -> dict[str, Tensor]:
    """The tensors of one of its files, on the CPU."""
    return load_file(checkpoint / f"{name}.safetensors")


def optimizer_tensors(optimizer: Optimizer) -> dict[str, Tensor]:
    """The optimizer's state, by number of the parameter and name of the tensor, as
    "3/exp_avg".
    """
    state = optimizer.state_dict()["state"]
    return {
        f"{number}/{name}": value
        for number, entry in state.items()
        for name, value in entry.items()
    }


def restore_optimizer(optimizer: Optimizer, tensors: Mapping[str, Tensor]) -> None:
    """Restore the state from `optimizer_tensors`; the groups' settings stay those of
    the optimizer.
    """
    state: dict[int, dict[str, Tensor]] = {}
    for key, tensor in tensors.items():
        number, _, name = key.partition("/")
        state.setdefault(int(number), {})[name] = tensor
    optimizer.load_state_dict(
        {"state": state, "param_groups": optimizer.state_dict()["param_groups"]}
    )


def module_tensors(module: nn.Module) -> dict[str, Tensor]:
    """Every parameter once (tied ones under one name), detached, for a file of
    tensors.
    """
    return {name: parameter.detach() for name, parameter in module.named_parameters()}


@torch.no_grad()
def restore_module(module: nn.Module, tensors: Mapping[str, Tensor]) -> None:
    """Copy the tensors of `module_tensors` in."""
    for name, parameter in module.named_parameters():
        parameter.copy_(tensors[name])


def check_settings(folder: Path, saved: Mapping[str, Any], own: Mapping[str, Any]) -> None:
    """Raise VocapError, naming the keys, for settings that differ from those of the
    checkpoint.
    """
    if different := [key for key in {**saved, **own} if saved.get(key) != own.get(key)]:
        key = different[0]
        before, now = (json.dumps(settings.get(key)) for settings in (saved, own))
        raise VocapError(
            f"{folder}: its checkpoints are of another configuration: {', '.join(different)} "
            f"({key} was {before:.120}, is {now:.120}); put the settings back, give the model "
            "another name, or delete the folder to train from the start"
        )
