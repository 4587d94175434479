/* The end of a Python program, without taking the interpreter apart.
 *
 * Before: the zygote stands at its point. After: if its program is CPython, its forks return at once from
 * Py_FinalizeEx, having done there what others can notice: they waited for threads, called what was
 * registered with atexit, flushed the standard streams, and let go of the objects of the program's own
 * modules, so that temporary files are removed. What is left out touches each page that the fork shares with
 * the zygote, which costs several times what a small check does itself; the kernel does it in no time.
 *
 * Nothing depends on the version of Python: a program without these symbols ends as it always did. */
#include "stub.h"

#include <elf.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PLACE      PC_STUB_ROOM /* in the page of the stub */
#define END        (PC_STUB_PAGE - sizeof(cpu_set_t))
#define MOST_BYTES (16 << 20) /* of the names and symbols of a program */

/* Called in place of Py_FinalizeEx. If stdout cannot be flushed, the interpreter ends with 120, too. */
static const char script[] =
    "exec('''\n"
    "import atexit, os, sys\n"
    "def attempt(step, *args):\n"
    "    try:\n"
    "        step(*args)\n"
    "    except BaseException:\n"
    "        pass\n"
    "def flush():\n"
    "    if sys.stdout is not None and not sys.stdout.closed:\n"
    "        try:\n"
    "            sys.stdout.flush()\n"
    "        except BaseException as why:\n"
    "            words = 'Exception ignored in: %r\\\\n%s: %s' % (sys.stdout, type(why).__name__, why)\n"
    "            attempt(lambda: print(words, file=sys.stderr, flush=True))\n"
    "            os._exit(120)\n"
    "    if sys.stderr is not None:\n"
    "        attempt(sys.stderr.flush)\n"
    "def own(module):\n"
    "    file = getattr(module, '__file__', None) or sys.prefix\n"
    "    main = getattr(module, '__name__', '') == '__main__'\n"
    "    return main or not file.startswith((sys.prefix, sys.base_prefix))\n"
    "def let_go():\n"
    "    sys.last_type = sys.last_value = sys.last_exc = sys.last_traceback = None\n"
    "    for names in [vars(module) for module in list(sys.modules.values()) if own(module)]:\n"
    "        for name in [name for name in names if not name.startswith('__')]:\n"
    "            names[name] = None\n"
    "if 'threading' in sys.modules:\n"
    "    attempt(sys.modules['threading']._shutdown)\n"
    "attempt(atexit._run_exitfuncs)\n"
    "flush()\n"
    "attempt(let_go)\n"
    "flush()\n"
    "''', {})\n";

static const unsigned char call_script[] = {
    0x48, 0x83, 0xec, 0x08,                   /* 00 sub rsp, 8 */
    0x48, 0xbf, 0,    0,    0, 0, 0, 0, 0, 0, /* 04 movabs rdi: the script */
    0x31, 0xf6,                               /* 0e xor esi, esi: no flags */
    0x48, 0xb8, 0,    0,    0, 0, 0, 0, 0, 0, /* 10 movabs rax: PyRun_SimpleStringFlags */
    0xff, 0xd0,                               /* 1a call rax */
    0x31, 0xc0,                               /* 1c xor eax, eax */
    0x48, 0x83, 0xc4, 0x08,                   /* 1e add rsp, 8 */
    0xc3,                                     /* 22 ret */
};
static const unsigned char jump[] = {
    0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, /* 00 movabs rax */
    0xff, 0xe0,                         /* 0a jmp rax */
};

_Static_assert(PLACE + sizeof(call_script) + sizeof(script) <= END, "it fits into the page");

/* The two functions, where the process has them. */
struct python {
    uint64_t finalize, run;
};

/* A file that is mapped for execution, as a line of /proc/pid/maps tells it. */
struct mapped {
    uint64_t start, offset;
    char path[4096];
};

/* Some bytes of a file, or false if it does not have them all. */
static bool take(int fd, uint64_t offset, void *bytes, size_t length) {
    return pread(fd, bytes, length, (off_t)offset) == (ssize_t)length;
}

/* A section as text that ends; NULL if it is larger than any such section is. */
static char *take_section(int fd, const Elf64_Shdr *section) {
    char *bytes = section->sh_size <= MOST_BYTES ? malloc(section->sh_size + 1) : NULL;
    if (bytes != NULL && !take(fd, section->sh_offset, bytes, section->sh_size)) {
        free(bytes);
        return NULL;
    }
    if (bytes != NULL) {
        bytes[section->sh_size] = '\0';
    }
    return bytes;
}

/* How far the file was moved when it was loaded; false if no segment is mapped like that. */
static bool find_bias(int fd, const Elf64_Ehdr *header, const struct mapped *mapped, uint64_t *bias) {
    Elf64_Phdr segment;
    for (unsigned i = 0; i < header->e_phnum; i++) {
        if (take(fd, header->e_phoff + i * sizeof(segment), &segment, sizeof(segment)) &&
            segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0 &&
            segment.p_offset / 4096 == mapped->offset / 4096) {
            *bias = mapped->start - mapped->offset + segment.p_offset - segment.p_vaddr;
            return true;
        }
    }
    return false;
}

static void look_among(const char *symbols, size_t length, const char *names, size_t names_length,
                       uint64_t bias, struct python *python) {
    Elf64_Sym symbol;
    for (size_t at = 0; at + sizeof(symbol) <= length; at += sizeof(symbol)) {
        memcpy(&symbol, symbols + at, sizeof(symbol));
        if (symbol.st_shndx == SHN_UNDEF || symbol.st_name >= names_length) {
            continue;
        }
        const char *name = names + symbol.st_name;
        if (strcmp(name, "Py_FinalizeEx") == 0 && symbol.st_size >= sizeof(jump)) {
            python->finalize = bias + symbol.st_value;
        } else if (strcmp(name, "PyRun_SimpleStringFlags") == 0) {
            python->run = bias + symbol.st_value;
        }
    }
}

static void look_in(int fd, const struct mapped *mapped, struct python *python) {
    Elf64_Ehdr header;
    Elf64_Shdr section, text;
    uint64_t bias;
    if (!take(fd, 0, &header, sizeof(header)) || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
        header.e_ident[EI_CLASS] != ELFCLASS64 || !find_bias(fd, &header, mapped, &bias)) {
        return;
    }
    for (unsigned i = 0; i < header.e_shnum; i++) {
        if (!take(fd, header.e_shoff + i * sizeof(section), &section, sizeof(section)) ||
            section.sh_type != SHT_DYNSYM ||
            !take(fd, header.e_shoff + section.sh_link * sizeof(text), &text, sizeof(text))) {
            continue;
        }
        char *symbols = take_section(fd, &section), *names = take_section(fd, &text);
        if (symbols != NULL && names != NULL) {
            look_among(symbols, section.sh_size, names, text.sh_size, bias, python);
        }
        free(symbols);
        free(names);
    }
}

static void look_at(pid_t pid, const struct mapped *mapped, struct python *python) {
    char path[4200];
    struct stat status;
    snprintf(path, sizeof(path), "/proc/%d/root%s", pid, mapped->path);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode)) {
        look_in(fd, mapped, python);
    }
    if (fd >= 0) {
        close(fd);
    }
}

/* Whether a file may be an interpreter, or the library that holds all of one. */
static bool is_python(const char *path) {
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;
    return strncmp(name, "python", 6) == 0 || strncmp(name, "libpython", 9) == 0;
}

static struct python find_python(pid_t pid) {
    struct python found = {0, 0};
    char path[64], *line = NULL;
    size_t room = 0;
    snprintf(path, sizeof(path), "/proc/%d/maps", pid);
    FILE *maps = fopen(path, "re");
    while (maps != NULL && (found.finalize == 0 || found.run == 0) && getline(&line, &room, maps) > 0) {
        struct mapped mapped;
        char rights[5];
        if (sscanf(line, "%lx-%*x %4s %lx %*s %*s %4095[^\n]", &mapped.start, rights, &mapped.offset,
                   mapped.path) == 4 &&
            rights[2] == 'x' && mapped.path[0] == '/' && is_python(mapped.path)) {
            look_at(pid, &mapped, &found);
        }
    }
    free(line);
    if (maps != NULL) {
        fclose(maps);
    }
    return found;
}

/* Whether the program itself is Python; one that only contains it may go on after it has ended that. */
static bool runs_python(pid_t pid) {
    char link[64], path[4096];
    snprintf(link, sizeof(link), "/proc/%d/exe", pid);
    ssize_t length = readlink(link, path, sizeof(path) - 1);
    path[length > 0 ? length : 0] = '\0';
    return is_python(path);
}

void pc_shorten_end(const struct pc_zygote *zygote) {
    unsigned char code[sizeof(call_script) + sizeof(script)], entry[sizeof(jump)];
    struct python python = runs_python(zygote->pid) ? find_python(zygote->pid) : (struct python){0, 0};
    if (python.finalize == 0 || python.run == 0) {
        return;
    }
    uint64_t called = zygote->stub + PLACE, text = called + sizeof(call_script);
    char path[64];
    memcpy(code, call_script, sizeof(call_script));
    memcpy(code + 0x04 + 2, &text, sizeof(text));
    memcpy(code + 0x10 + 2, &python.run, sizeof(python.run));
    memcpy(code + sizeof(call_script), script, sizeof(script));
    memcpy(entry, jump, sizeof(jump));
    memcpy(entry + 2, &called, sizeof(called));
    snprintf(path, sizeof(path), "/proc/%d/mem", zygote->pid);
    int memory = open(path, O_RDWR | O_CLOEXEC);
    if (memory >= 0 && pwrite(memory, code, sizeof(code), (off_t)called) == (ssize_t)sizeof(code)) {
        (void)!pwrite(memory, entry, sizeof(entry), (off_t)python.finalize);
    }
    if (memory >= 0) {
        close(memory);
    }
}
