"""The seam for others: what a plug-in may add, and how it is found, checked and refused (decision 0089).

A plug-in is a Python module with `holdfast_plugin = 1` and any of the lists `tools`, `slash_commands`, `commands`,
`providers`, `formats` and `surfaces`. It gets no journal and no approval: a tool plans and runs as any other, and a
slash command returns lines and at most one command of a closed list.
"""
