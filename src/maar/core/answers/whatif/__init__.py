"""What a change would do: `ask.what_if` decides without and with it, `answer` has columns, `text` draws.

`changes` and `submitting` read what is to be changed, and `change_writes` and `change_commands`
carry it out on a cluster.
"""
