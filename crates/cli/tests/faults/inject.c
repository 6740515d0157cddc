/* Runs a program and makes one of its system calls fail, however it is made: through libc or not.
 *
 *     inject KIND N ERRNO FOLDER FIRED PROGRAM ARGUMENT...
 *
 * The N-th call of that kind on a file below FOLDER is not made and returns ERRNO, or, if that is 0, PROGRAM is killed
 * before it; then the file FIRED is written. Ends
 * with the exit status of PROGRAM, or 128 and the number of the signal that ended it. Linux on x86-64.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/ptrace.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

/* Without the C library's header of it, which does not go together with the kernel's. */
static long ptrace(long request, long pid, void *address, void *data) { return syscall(SYS_ptrace, request, pid, address, data); }

static const char *folder;

static int below(const char *path) {
    size_t length = strlen(folder);
    return strncmp(path, folder, length) == 0 && (path[length] == '/' || path[length] == 0);
}

static int descriptor(pid_t pid, unsigned long fd) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/%d/fd/%lu", pid, fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0)
        return 0;
    path[length] = 0;
    return below(path);
}

/* The program runs in FOLDER: a relative path is below it. */
static int named(pid_t pid, unsigned long address) {
    char path[4096] = {0};
    /* Page by page: a path may go on in the next one, which may as well not be there. */
    size_t first = 4096 - address % 4096;
    struct iovec here = {path, sizeof path - 1};
    struct iovec there[] = {{(void *)address, first}, {(void *)(address + first), sizeof path - 1}};
    if (process_vm_readv(pid, &here, 1, there, 2, 0) <= 0)
        return 0;
    return path[0] != '/' || below(path);
}

static int is(const char *kind, pid_t pid, const struct ptrace_syscall_info *info) {
    const unsigned long long *args = (const unsigned long long *)info->entry.args;
    const int writes = O_CREAT | O_WRONLY | O_RDWR;
    switch (info->entry.nr) {
    case SYS_write: case SYS_pwrite64: case SYS_writev:
        return !strcmp(kind, "write") && descriptor(pid, args[0]);
    case SYS_read: case SYS_pread64: case SYS_readv:
        return !strcmp(kind, "read") && descriptor(pid, args[0]);
    case SYS_fsync: case SYS_fdatasync:
        return !strcmp(kind, "sync") && descriptor(pid, args[0]);
    case SYS_ftruncate:
        return !strcmp(kind, "resize") && descriptor(pid, args[0]);
    case SYS_fchmod:
        return !strcmp(kind, "chmod") && descriptor(pid, args[0]);
    case SYS_open: case SYS_creat:
        return !strcmp(kind, "create") && (args[1] & writes || info->entry.nr == SYS_creat) && named(pid, args[0]);
    case SYS_openat:
        return !strcmp(kind, args[2] & writes ? "create" : "open") && named(pid, args[1]);
    case SYS_mkdir:
        return !strcmp(kind, "mkdir") && named(pid, args[0]);
    case SYS_mkdirat:
        return !strcmp(kind, "mkdir") && named(pid, args[1]);
    case SYS_rename:
        return !strcmp(kind, "rename") && named(pid, args[0]);
    case SYS_renameat: case SYS_renameat2:
        return !strcmp(kind, "rename") && named(pid, args[1]);
    case SYS_unlink: case SYS_rmdir:
        return !strcmp(kind, "remove") && named(pid, args[0]);
    case SYS_unlinkat:
        return !strcmp(kind, "remove") && named(pid, args[1]);
    }
    return 0;
}

int main(int count, char **args) {
    if (count < 7)
        return 125;
    const char *kind = args[1], *fired = args[5];
    long at = atol(args[2]), error = atol(args[3]), calls = 0;
    folder = args[4];
    pid_t child = fork(), failing = 0;
    if (child == 0) {
        if (ptrace(PTRACE_TRACEME, 0, 0, 0))
            _exit(124);
        raise(SIGSTOP);
        execv(args[6], args + 6);
        _exit(125);
    }
    int status;
    if (waitpid(child, &status, 0) < 0 || !WIFSTOPPED(status))
        return 124;
    long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL;
    if (ptrace(PTRACE_SETOPTIONS, child, 0, (void *)options) || ptrace(PTRACE_SYSCALL, child, 0, 0))
        return 124;
    for (;;) {
        pid_t pid = waitpid(-1, &status, __WALL);
        if (pid < 0)
            return 124;
        if (WIFEXITED(status) || WIFSIGNALED(status)) {
            if (pid == child)
                return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
            continue;
        }
        long deliver = 0;
        if (WSTOPSIG(status) == (SIGTRAP | 0x80)) {
            struct ptrace_syscall_info info = {0};
            ptrace(PTRACE_GET_SYSCALL_INFO, pid, (void *)sizeof info, &info);
            if (info.op == PTRACE_SYSCALL_INFO_ENTRY && is(kind, pid, &info) && ++calls == at) {
                ptrace(PTRACE_POKEUSR, pid, (void *)offsetof(struct user_regs_struct, orig_rax), (void *)-1L);
                failing = pid;
                if (error == 0) {
                    close(open(fired, O_CREAT | O_WRONLY, 0600));
                    kill(child, SIGKILL);
                    continue;
                }
            } else if (info.op == PTRACE_SYSCALL_INFO_EXIT && pid == failing) {
                ptrace(PTRACE_POKEUSR, pid, (void *)offsetof(struct user_regs_struct, rax), (void *)-error);
                failing = 0;
                close(open(fired, O_CREAT | O_WRONLY, 0600));
            }
        } else if (WSTOPSIG(status) != SIGTRAP && WSTOPSIG(status) != SIGSTOP) {
            deliver = WSTOPSIG(status);
        }
        ptrace(PTRACE_SYSCALL, pid, 0, (void *)deliver);
    }
}
