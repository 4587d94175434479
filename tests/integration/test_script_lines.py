"""Lines of Ruby and Perl, through their libraries, in threads and forked processes; scripts of PHP by their names."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "corpus"))

from harness import powercut_test

from powercut.record.recorder import RecordOptions, record_command
from powercut.runtimes.runtime import AGENTS
from powercut.trace.layout import Kind
from powercut.trace.symbols import StackResolver, only_own

RUBY = """\
require "fileutils"; Dir.chdir("data")
def save(name)
  File.open(name, "w") do |file|
    file.write("text")
  end # save
end
save("a") # save
FileUtils.mv("a", "b") # library
Thread.new { File.write("c", "text") }.join # thread
fork { File.write("d", "text") } # forked
Process.wait
system "cp", "b", "child" # child
open("e", "w") { |file| file << "one" << "two" } # opened
File.write("f", "text", mode: "a") # keywords
$stdout.syswrite("done") # said
"""
RUBY_LINES = {"a": [3, 7], "b": [8], "c": [9], "d": [10, 10], "child": [12], "e": [13], "f": [14], "": [15]}
PERL = """\
use strict; BEGIN { chdir "data" }
use File::Copy qw(copy);
sub save {
    my ($name) = @_;
    open my $file, '>', $name or die;
    print $file "text";
}
sub text { my $text = "text"; return wantarray ? ($text) : $text }
save('a');
copy('a', 'b');
eval { save('c'); die };
if (!fork) { save('d'); exit }
wait;
system 'cp', 'b', 'child';
open my $file, '>', 'e'; syswrite $file, text();
my @list = text(); my $scalar = text(); save('f') if "@list" eq $scalar;
syswrite STDOUT, "done";
"""
PERL_LINES = {"a": [5, 9], "b": [10], "c": [5, 11], "d": [5, 12], "child": [14], "e": [15], "f": [5, 16], "": [17]}


SCRIPTS = {"ruby": (RUBY, RUBY_LINES), "perl": (PERL, PERL_LINES)}


@pytest.mark.parametrize("program", SCRIPTS)
def test_lines_of_scripts(program: str, tmp_path: Path) -> None:
    text, lines = SCRIPTS[program]
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")
    (tmp_path / "script").write_text(text)
    (tmp_path / "data").mkdir()
    options = RecordOptions(tmp_path / "data", tmp_path, tmp_path / "trace", runtimes=True)
    trace = record_command([program, "script"], options).trace  # which goes on elsewhere
    resolver = StackResolver.of(trace)
    found = {}
    for event in trace.events[trace.of_kind(Kind.CREATE, Kind.RENAME, Kind.OUTPUT)]:
        name = trace.string(int(event["path2"]) or int(event["path"])).decode()
        frames = resolver.frames(int(event["stack"]))
        assert all(frame.asked for frame in only_own(frames)) == (name == "child")
        assert {frame.file for frame in only_own(frames)} == {str(tmp_path / "script")}
        found[name] = [frame.line for frame in only_own(frames)]
    assert found == lines


AGENTS_ALONE = {
    "ruby": ("-r" + str(AGENTS / "ruby" / "powercut_agent.rb"), "-e", "puts File.exist?('x'); p IO.ancestors.size"),
    "perl": ("-I" + str(AGENTS / "perl"), "-d:PowercutAgent", "-e", 'print "$^P ", join ",", caller; print "\\n"'),
}


@pytest.mark.parametrize("program", AGENTS_ALONE)
def test_without_a_tracer_nothing_is_changed(program: str) -> None:
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")
    words = AGENTS_ALONE[program]
    own = [word for word in words if str(AGENTS) not in word and not word.startswith("-d")]
    runs = [subprocess.run([program, *some], capture_output=True, check=True) for some in (words, own)]
    assert runs[0].stdout == runs[1].stdout
    assert not runs[0].stderr


@pytest.mark.skipif(shutil.which("php") is None, reason="php is not installed")
def test_a_script_of_php_is_the_place(tmp_path: Path) -> None:
    script = tmp_path / "save.php"
    script.write_text("<?php\nfile_put_contents('new', 'whole');\nrename('new', 'file');\n")
    (tmp_path / "check").write_text('[ ! -e file ] || [ "$(cat file)" = whole ]')
    (tmp_path / "data").mkdir()
    run = powercut_test(["php", str(script)], f"sh {tmp_path / 'check'}", tmp_path / "data", inside=True)
    assert [place.function for place in run.findings[0].locations] == ["php save.php"] * 2
    assert "/php /" in run.output
    assert "in PHP: fdatasync($f)\n" in run.output
    assert "powercut learns no lines from php" in run.output
