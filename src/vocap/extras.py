"""The optional dependencies: the extra of pyproject.toml that brings a package which is not installed."""

MODULES = {
    "workflow": ("altair", "jinja2", "markupsafe", "pyarrow", "snakemake", "vl_convert"),
    "train": ("safetensors", "torch", "transformers"),
    "tensorboard": ("tensorboard",),
}


def remedy(module: str) -> str | None:
    """How to install the extra that holds a top-level module; None for a module of no extra.

    By the project's folder, never by name: no registry is asked for a package called vocap.
    """
    for extra, modules in MODULES.items():
        if module.partition(".")[0] in modules:
            return f"install the extra [{extra}]: pip install '.[{extra}]' in VoCap's folder"
    return None
