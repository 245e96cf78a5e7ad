"""How a cluster is shared out: `ask.queue_shares` asks the engine, `answer.queue_tree` is what people see.

`why`, `why_sentences` and `why_text` say why a queue deserves what it does; `water_level` draws it.
"""
