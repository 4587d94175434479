"""Set a number three times and say which is set. Argument: 0 sets the text beside it, once."""

import sys

from gi.repository import Gio

schema = Gio.SettingsSchemaSource.new_from_directory(".", None, False).lookup("org.example.survey", False)
backend = Gio.keyfile_settings_backend_new("data/settings.ini", "/", None)
settings = Gio.Settings.new_full(schema, backend, None)
if "0" in sys.argv:
    settings.set_string("text", "x" * 3000)
else:
    for number in (1, 2, 3):
        settings.set_int("number", number)
        Gio.Settings.sync()
        print("set", number, flush=True)
