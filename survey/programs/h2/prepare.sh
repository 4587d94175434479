# Compile the program into a jar that knows where H2 and HSQLDB are, and make the table. Arguments: the folder of the code,
# options of java.
set -e
javac -d classes "$1/Program.java"
echo 'Class-Path: file:/usr/share/java/h2.jar file:/usr/share/java/hsqldb.jar' >manifest
jar --create --file program.jar --manifest manifest --main-class Program -C classes .
shift
java "$@" -jar program.jar start
