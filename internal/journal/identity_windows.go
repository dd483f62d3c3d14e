package journal

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/windows"
)

// fileIdentity describes a file in a way that no copy shares: by its number. A copy can have the moment in
// which the other one was made.
func fileIdentity(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	var info windows.ByHandleFileInformation
	err = windows.GetFileInformationByHandle(windows.Handle(f.Fd()), &info)
	return fmt.Sprint("file ", uint64(info.FileIndexHigh)<<32|uint64(info.FileIndexLow)), errors.Join(err, f.Close())
}
