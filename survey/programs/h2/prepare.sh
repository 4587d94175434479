# Compile the program into a jar that knows where H2 is, and make the table. Argument: the folder of the code.
set -e
javac -d classes "$1/Program.java"
echo 'Class-Path: file:/usr/share/java/h2.jar' >manifest
jar --create --file program.jar --manifest manifest --main-class Program -C classes .
java -jar program.jar start
