"""The starter corpus: translation catalogues of free programs, in all 86 languages."""
