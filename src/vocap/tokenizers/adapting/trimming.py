"""Which pieces a tokenizer needs for some languages, and why nothing changes without the others.

SentencePiece's segmentation of a line is the path of the highest score through the line's lattice, the longest
piece first among equals, position by position (`Model::EncodeOptimized`). Without a piece that the path does not
use, the path is still there, no other has gained, and of the equal ones none that comes before it is new: it wins
again, in float32 as in exact numbers, as each sum along it is made of the same terms in the same order. So a line
changes if and only if its path used a piece that was removed. This needs two scores that depend on all pieces to
stay: that of an unknown character (the lowest of all pieces less 10), and that of a user-defined symbol (from the
highest, where it is above 0). The pieces that have them are therefore kept.
"""

from collections.abc import Collection, Mapping

import numpy as np

from vocap.tokenizers.layout import Contents

# why a piece stays, the first that applies
TEXT, HELDOUT, LANGUAGE, CHARACTER, EXTREME = "text", "heldout", "language", "character", "extreme"
REASONS = (TEXT, HELDOUT, LANGUAGE, CHARACTER, EXTREME)


def choose(
    contents: Contents,
    text: Mapping[str, int],
    heldout: Mapping[str, int],
    owned: Collection[str] = (),
    least: int = 1,
    all_characters: bool = False,
) -> dict[str, str]:
    """The pieces that stay, in the order of `contents`, each with its reason.

    `text` and `heldout`: how often each piece stands in the segmented training and held-out text (absent: never).
    A piece of several characters stays if it stands `least` times in both together, a single character if it
    stands at all; all of `owned`; the characters of every piece that stays (or, with `all_characters`, all there
    are); and the pieces of the lowest and of the highest score.
    """
    kept: dict[str, str] = {}
    for piece in contents.pieces:
        times = text.get(piece, 0) + heldout.get(piece, 0)
        if times >= least or (times and len(piece) == 1):
            kept[piece] = TEXT if text.get(piece) else HELDOUT
        elif piece in owned:
            kept[piece] = LANGUAGE
    written = set("".join(kept))
    for piece in contents.pieces:
        if len(piece) == 1 and (all_characters or piece in written):
            kept.setdefault(piece, CHARACTER)
    scores = np.asarray(contents.scores)
    for extreme in (int(scores.argmin()), int(scores.argmax())):
        kept.setdefault(contents.pieces[extreme], EXTREME)
    return {piece: kept[piece] for piece in contents.pieces if piece in kept}


def trim(contents: Contents, kept: Collection[str]) -> Contents:
    """`contents` with these pieces alone, scores as they are; symbols and byte pieces stay."""
    places = [place for place, piece in enumerate(contents.pieces) if piece in kept]
    pieces = [contents.pieces[place] for place in places]
    return Contents(pieces, np.asarray(contents.scores)[places], contents.symbols, contents.byte_fallback)
