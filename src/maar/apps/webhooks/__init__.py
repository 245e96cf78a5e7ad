"""Admission over HTTPS: reviews, the judge that answers them, and how API servers find and trust us."""
