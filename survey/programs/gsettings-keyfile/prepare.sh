# Compile the schema, and set the text. Arguments: the program's Python, the folder of its code.
set -e
"$(dpkg -L libglib2.0-0 | grep /glib-compile-schemas$)" --targetdir=. "$2"
"$1" "$2/workload.py" 0
