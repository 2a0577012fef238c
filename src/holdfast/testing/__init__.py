"""Public fakes and checks, for our tests and for everyone else's.

Nothing here comes from `holdfast.history`: a scripted provider that shared our rules would share our mistakes.
"""
