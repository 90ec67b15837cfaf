//! Counts instructions exactly, on machines without counters: a copy of the process runs step by step.

use std::io::Error;

use crate::failure::Failure;

/// The number of instructions that a function executes, in this thread and user space. What it changes, it changes in the copy.
/// The process must have no other thread that holds a lock which the function takes.
pub(super) fn count(run: impl FnOnce()) -> Result<u64, Failure> {
    let all = steps(run, None)?;
    Ok(all.saturating_sub(steps(|| (), None)?))
}

/// The addresses of the instructions that a function executes, and a few more, in the order in which they run.
/// There are none on processors other than x86-64.
pub(super) fn addresses(run: impl FnOnce()) -> Result<Vec<u64>, Failure> {
    let mut addresses = Vec::new();
    steps(run, Some(&mut addresses))?;
    Ok(addresses)
}

/// The program counter of a stopped child.
#[cfg(target_arch = "x86_64")]
fn program_counter(child: libc::pid_t) -> Option<u64> {
    let mut registers = std::mem::MaybeUninit::<libc::user_regs_struct>::zeroed();
    // SAFETY: the child has stopped; the call writes the structure, which is plain numbers.
    unsafe {
        let read = libc::ptrace(libc::PTRACE_GETREGS, child, 0, registers.as_mut_ptr());
        (read == 0).then(|| registers.assume_init().rip)
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn program_counter(_: libc::pid_t) -> Option<u64> {
    None
}

/// The steps of a copy of the process that runs a function and ends, and where they are.
#[cfg(target_os = "linux")]
fn steps(run: impl FnOnce(), mut addresses: Option<&mut Vec<u64>>) -> Result<u64, Failure> {
    let failed = |what: &str| Failure::message(format!("{what}: {}", Error::last_os_error()));
    // SAFETY: the child runs only the function, and ends without running destructors or handlers.
    let child = unsafe { libc::fork() };
    match child {
        -1 => return Err(failed("fork")),
        0 => {
            // SAFETY: calls without pointers; the parent continues the child after it has stopped.
            unsafe {
                if libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) != 0 {
                    libc::_exit(2);
                }
                libc::raise(libc::SIGSTOP);
                run();
                libc::_exit(0);
            }
        }
        _ => {}
    }
    let mut status = 0;
    let mut steps = 0;
    loop {
        // SAFETY: `status` outlives the call, and the child is this process's.
        if unsafe { libc::waitpid(child, &mut status, 0) } != child {
            return Err(failed("waitpid"));
        }
        if libc::WIFEXITED(status) {
            return match libc::WEXITSTATUS(status) {
                0 => Ok(steps),
                _ => Err(Failure::message("this machine does not let processes be traced")),
            };
        }
        let expected = libc::WIFSTOPPED(status) && [libc::SIGTRAP, libc::SIGSTOP].contains(&libc::WSTOPSIG(status));
        if let Some(addresses) = &mut addresses {
            addresses.extend(program_counter(child));
        }
        // SAFETY: the child has stopped; a child that stopped for another signal is ended.
        let result = unsafe {
            match expected {
                true => libc::ptrace(libc::PTRACE_SINGLESTEP, child, 0, 0),
                false => i64::from(libc::kill(child, libc::SIGKILL)) - 1,
            }
        };
        if result != 0 {
            return Err(failed("the copy of the process cannot be run step by step"));
        }
        steps += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::count;

    #[test]
    fn twice_the_work_takes_twice_the_instructions() {
        let work = |rounds: u64| {
            count(|| {
                (0..rounds).for_each(|i| {
                    std::hint::black_box(i);
                });
            })
            .unwrap_or_else(|e| panic!("{e:?}"))
        };
        let (one, two) = (work(1000), work(2000));
        assert!(one >= 1000 && two > one * 3 / 2 && two < one * 5 / 2, "{one} and {two}");
    }
}
