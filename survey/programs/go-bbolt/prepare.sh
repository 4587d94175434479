# Compile a program with the Go packages of Debian; if it makes its own start, run it with that. Arguments: FOLDER [START].
set -e
GO111MODULE=off GOPATH=/usr/share/gocode GOFLAGS=-buildvcs=false go build -o program "$1/program.go"
test $# -eq 1 || ./program "$2"
