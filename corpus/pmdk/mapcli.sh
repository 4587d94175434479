#!/bin/sh
# mapcli.sh MAPCLI TYPE POOL COMMANDS: mapcli reads commands and prints a line for each "c KEY", at once.
exec stdbuf -oL "$1" "$2" "$3" 1 <"$4"
