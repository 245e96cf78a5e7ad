"""Why something is as it is: `ask.Explainer` finds out, `text` says it.

`subject` is what was asked about, `order_terms` and `placement` are parts of the answer, and
`smallest_change` looks for changes that would help, by trying `single_changes` in
`decision_trials`.
"""
