package cli

import "syscall"

// endWithUs has the system kill the command should till itself be killed.
func endWithUs(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }
