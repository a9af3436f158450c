"""The ids of a tokenizer besides its pieces of text: section `layout` of the
configuration.

Special tokens have the ids from 0 in their order; control symbols, reserved ids, bytes,
user-defined symbols and pieces follow (`tokenizer_files.layout`); `<mask>` is the last
id. The default is XLM-R's.
"""

import json
import re
from collections import Counter
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import BeforeValidator, Field, model_validator
from sentencepiece import sentencepiece_model_pb2

from vocap.errors import UsageError
from vocap.section import ConfigSection
from vocap.tokenizer_files import MASK
from vocap.tokenizer_files.model_file import BYTES, CONTROL, UNKNOWN, USER_DEFINED, pieces_of

RESERVED = "<reserved_{}>"  # from 0
Role = Literal["bos", "eos", "pad", "unk"]  # of SentencePiece, which has none for the mask
ROLES: tuple[Role, ...] = get_args(Role)
TOKEN_ROLES = {  # the names of transformers, and the role of the layout that gives each
    "bos_token": "bos",
    "eos_token": "eos",
    "unk_token": "unk",
    "sep_token": "eos",
    "pad_token": "pad",
    "cls_token": "bos",
    "mask_token": "mask",
}
CHATML = """\
{% for message in messages %}<|im_start|>{{ message['role'] }}
{{ message['content'] }}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""  # of Qwen's models, without their default system message
PRESETS = {  # special tokens without a role
    "chatml": ["<|im_start|>", "<|im_end|>"],
    "tools": ["<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>"],  # Qwen3's
    "fim": ["<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>", "<|fim_pad|>"],  # Qwen2.5-Coder's
}
# a string of a template that must be one id
TEMPLATE_TOKEN = re.compile(r"<[|\uff5c][^<>\s]+[|\uff5c]>")
TEMPLATE_ROLE = re.compile(r"\b((?:bos|eos|unk|pad|mask)_token)\b(?!\s+is\s)")  # its variables
NAMED: dict[str, Role] = {
    "<s>": "bos",
    "<bos>": "bos",
    "</s>": "eos",
    "<eos>": "eos",
    "<pad>": "pad",
    "<unk>": "unk",
}


class Special(ConfigSection):
    """A special token, and its role, if it has one."""

    token: str = Field(min_length=1, description="its text, which no other text is encoded as")
    role: Role | None = Field(None, description="use of the token by models and libraries, if any")


def _with_role(value: Any) -> Any:
    """A token given by its name alone has the role that the name stands for, if any."""
    return {"token": value, "role": NAMED.get(value)} if isinstance(value, str) else value


class IdLayout(ConfigSection):
    """The ids besides pieces, and the form of a text in the Hugging Face export."""

    special: list[
        Annotated[Special, BeforeValidator(_with_role, json_schema_input_type=str | Special)]
    ] = Field(
        [Special(token=token, role=NAMED[token]) for token in ("<s>", "<pad>", "</s>", "<unk>")],
        description=f"special tokens, by id from 0: a name or {{token, role}}; roles: "
        f"{', '.join(ROLES)} (that of "
        f"{', '.join(NAMED)} is known)",
    )
    presets: list[Literal["chatml", "tools", "fim"]] = Field(
        [],
        description="special tokens by purpose, added to special unless they are there: "
        + "; ".join(f"{name}: {' '.join(tokens)}" for name, tokens in PRESETS.items()),
    )
    chat_template: str | None = Field(
        None,
        min_length=1,
        description="chat template of the export: chatml, or a file with one in Jinja, whose "
        "every <|name|> is a "
        "special token or a symbol",
    )
    mask: bool = Field(
        True, description="whether <mask> is the last id; masked language models need it"
    )
    reserved: int = Field(
        0, ge=0, le=100_000, description="ids without a use yet: <reserved_0> and so on"
    )
    multiple_of: int = Field(
        1, ge=1, le=1 << 20, description="T of every tokenizer is a multiple of this number"
    )
    bos_eos: Literal["both", "bos", "eos", "none"] | None = Field(
        None,
        description="which of the two tokens the export puts around a text; unless given, those "
        "there are",
    )
    model_max_length: Annotated[int, Field(ge=1)] | None = Field(
        512, description="longest input in ids, which the export names; null: no limit"
    )
    padding_side: Literal["left", "right"] | None = Field(
        None,
        description="side of a batch's shorter texts that the export's users fill; a model that "
        "writes on wants left; without it transformers takes right",
    )

    @model_validator(mode="before")
    @classmethod
    def _with_presets(cls, values: Any) -> Any:
        """The tokens of presets behind those of `special`; a token that has a role
        there keeps it.
        """
        if not isinstance(values, dict) or not isinstance(values.get("presets"), list):
            return values
        special = values.get("special", cls.model_fields["special"].default)
        if not isinstance(special, list):
            return values
        given = {
            one.get("token") if isinstance(one, dict) else getattr(one, "token", one)
            for one in special
        }
        tokens = [
            token
            for name in dict.fromkeys(map(str, values["presets"]))
            for token in PRESETS.get(name, ())
        ]
        return {**values, "special": [*special, *(token for token in tokens if token not in given)]}

    @model_validator(mode="after")
    def _usable(self) -> "IdLayout":
        roles = [entry.role for entry in self.special if entry.role]
        for name in (entry.token for entry in self.special):
            if name in BYTES or any(one.isspace() or one in "\0\u2581" for one in name):
                raise ValueError(
                    f"special: {name!r} holds a space, U+2581 or NUL, or is the name of a byte; "
                    "take another"
                )
        for what, given in (("token", self.names), ("role", roles)):
            for one, times in Counter(given).items():
                if times > 1:
                    raise ValueError(
                        f"special: the {what} {one!r} is given {times} times (mask: true gives "
                        f"{MASK}, reserved: N {RESERVED.format(0)} and so on); keep one"
                    )
        for role in ("bos", "eos"):
            if self.bos_eos in ("both", role) and role not in roles:
                raise ValueError(
                    f"bos_eos: {self.bos_eos}: no special token has the role {role}; add one"
                )
        return self

    def __repr_args__(self) -> Iterable[tuple[str, Any]]:
        return self.model_dump(exclude_defaults=True).items()

    @property
    def names(self) -> list[str]:
        """Every special token: those of `special`, the reserved ones and the mask."""
        return [entry.token for entry in self.special] + self.reserved_names + [MASK] * self.mask

    @property
    def reserved_names(self) -> list[str]:
        return [RESERVED.format(number) for number in range(self.reserved)]

    @property
    def rows(self) -> int:
        """Ids of T that neither pieces nor symbols and bytes of the text take."""
        return len(self.names)

    def token(self, role: str) -> str | None:
        """The special token of a role, if there is one."""
        return next((entry.token for entry in self.special if entry.role == role), None)

    @property
    def roles(self) -> dict[str, str]:
        """The special token of each role that there is, the mask among them."""
        found: dict[str, str] = {one.role: one.token for one in self.special if one.role}
        return {**found, "mask": MASK} if self.mask else found

    @property
    def around(self) -> tuple[str | None, str | None]:
        """The tokens before and behind a text in the export."""
        sides = [
            self.token(role) if self.bos_eos in (None, "both", role) else None
            for role in ("bos", "eos")
        ]
        return sides[0], sides[1]

    def read_template(self, symbols: Collection[str]) -> str | None:
        """The chat template, if there is one; `symbols`: tokens besides those of the layout.

        Raises UsageError for a file that cannot be read, and for a template that names
        no such token.
        """
        if self.chat_template in (None, "chatml"):
            text = self.chat_template and CHATML
        else:
            try:
                text = Path(self.chat_template).read_text("utf-8")
            except (OSError, ValueError) as error:
                reason = getattr(error, "strerror", None) or "not UTF-8"
                raise UsageError(
                    f"layout.chat_template: {self.chat_template}: {reason}; write chatml, or a file"
                ) from None
        known = {
            *self.names,
            *symbols,
            *(name for name, role in TOKEN_ROLES.items() if role in self.roles),
        }
        for name in (*TEMPLATE_TOKEN.findall(text or ""), *TEMPLATE_ROLE.findall(text or "")):
            if name not in known:
                raise UsageError(
                    f"layout.chat_template: {self.chat_template} names {name}, which no token is; "
                    "add it under layout.special, layout.presets or text.control_symbols"
                )
        return text

    def check_unknown(self) -> None:
        """Raise UsageError without a token of the role unk, which byte-pair encoding
        never gives.
        """
        if self.token("unk") is None:
            raise UsageError(
                "layout.special: no token has the role unk, which a unigram model needs; add <unk>"
            )

    def check_total(self, total: int) -> None:
        """Raise UsageError for a T that is no multiple of `multiple_of`, naming the two
        nearest.
        """
        below = total - total % self.multiple_of
        if below != total:
            raise UsageError(
                f"T = {total} is no multiple of {self.multiple_of} (layout.multiple_of); take "
                f"{below} or {below + self.multiple_of}"
            )

    def ids(self) -> "IdLayout":
        """The layout with the default settings of the export and of T."""
        return IdLayout.model_construct(
            special=self.special, mask=self.mask, reserved=self.reserved
        )

    @property
    def use(self) -> dict[str, Any]:
        """What tokenizer_config.json says of the use of the tokenizer."""
        use = {"model_max_length": self.model_max_length, "padding_side": self.padding_side}
        return {key: value for key, value in use.items() if value is not None}

    def text(self) -> str | None:
        """The value of the option that gives this layout to a command; None for the
        default.
        """
        given = self.model_dump(exclude_defaults=True)
        return json.dumps(given, ensure_ascii=False) if given else None


XLM_R_LAYOUT = IdLayout()
SHORTHAND = "xlm-r"


def layout(**keys: object) -> IdLayout:
    """The layout with these keys of section `layout` of a configuration. Raises UsageError,
    naming the key.

    >>> layout(presets=["chatml"], mask=False).rows
    6
    """
    return IdLayout.given(None, **keys)


def role_ids(proto: Any) -> dict[str, int]:
    """The ids of a `ModelProto` that have a role, `mask` among them, which may be a
    user-defined symbol: only those that are there.
    """
    spec = proto.trainer_spec
    names = {spec.bos_piece: "bos", spec.eos_piece: "eos", spec.pad_piece: "pad", MASK: "mask"}
    found = {}
    for number, entry in enumerate(proto.pieces):
        if entry.type == UNKNOWN:
            found["unk"] = number
        elif entry.piece in names and (
            entry.type == CONTROL or (entry.piece == MASK and entry.type == USER_DEFINED)
        ):
            found[names[entry.piece]] = number
    return found


def layout_of(proto: Any) -> IdLayout:
    """The layout of a `ModelProto`, as far as a model file holds it: special tokens,
    reserved ids, mask; no longest input.

    Special tokens are the rows before all others; control symbols of the text, which
    the file names, are none.
    """
    ids = role_ids(proto)
    by_id = {ids[role]: role for role in ROLES if role in ids}
    reserved = re.compile(RESERVED.format(r"\d+"))
    controls, special = set(proto.trainer_spec.control_symbols), []
    for number, entry in enumerate(proto.pieces):
        if (
            entry.type not in (CONTROL, UNKNOWN)
            or entry.piece in controls
            or reserved.fullmatch(entry.piece)
        ):
            break
        if entry.piece != MASK:
            special.append(Special(token=entry.piece, role=by_id.get(number)))
    others = pieces_of(proto, CONTROL)
    count = sum(piece not in controls and bool(reserved.fullmatch(piece)) for piece in others)
    return IdLayout.model_construct(
        special=special, mask=MASK in others, reserved=count, model_max_length=None
    )


def set_roles(proto: Any, layout: IdLayout) -> None:
    """Name the layout's special tokens in the `trainer_spec` of a model, by id; -1 and
    no name for absent ones.
    """
    spec: sentencepiece_model_pb2.TrainerSpec = proto.trainer_spec
    ids = {entry.role: number for number, entry in enumerate(layout.special)}
    for role in ROLES:
        setattr(spec, f"{role}_id", ids.get(role, -1))
        setattr(spec, f"{role}_piece", layout.token(role) or "")
