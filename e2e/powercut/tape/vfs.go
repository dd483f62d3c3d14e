package tape

import (
	"bytes"
	"fmt"
	"path/filepath"
	"unsafe"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// SQLite reaches its files through a table of functions for the file system, and another one for each open
// file. The functions below stand before those that change files. The index of the log (-shm) is not among
// them: it does not outlast the machine.

type (
	openFunc      = func(tls *libc.TLS, vfs, name, file uintptr, flags int32, out uintptr) int32
	deleteFunc    = func(tls *libc.TLS, vfs, name uintptr, syncDirectory int32) int32
	writeFunc     = func(tls *libc.TLS, file, data uintptr, n int32, offset int64) int32
	truncateFunc  = func(tls *libc.TLS, file uintptr, size int64) int32
	syncFunc      = func(tls *libc.TLS, file uintptr, flags int32) int32
	directoryFunc = func(tls *libc.TLS, name, fd uintptr) int32
	setCallFunc   = func(tls *libc.TLS, vfs, name, function uintptr) int32
	getCallFunc   = func(tls *libc.TLS, vfs, name uintptr) uintptr
)

// wrapped is what the wrappers stand before.
var wrapped struct {
	vfs           *sqlite3.Tsqlite3_vfs
	openDirectory directoryFunc
	methods       map[uintptr]*[2]sqlite3.Tsqlite3_io_methods // the real table and its copy, by the address of the real one
	open          map[uintptr]file                            // by the address of SQLite's file
	directories   []string                                    // opened to be synced, in the call that is under way
}

type file struct {
	number  int
	methods *sqlite3.Tsqlite3_io_methods // the real ones
}

// register makes the wrappers SQLite's default.
func register() error {
	tls := libc.NewTLS()
	real := sqlite3.Xsqlite3_vfs_find(tls, 0)
	if real == 0 {
		return fmt.Errorf("SQLite has no file system")
	}
	wrapped.vfs = at[sqlite3.Tsqlite3_vfs](real)
	wrapped.methods, wrapped.open = map[uintptr]*[2]sqlite3.Tsqlite3_io_methods{}, map[uintptr]file{}
	call, err := libc.CString("openDirectory")
	if err != nil {
		return err
	}
	wrapped.openDirectory = function[directoryFunc](function[getCallFunc](wrapped.vfs.FxGetSystemCall)(tls, real, call))
	if rc := function[setCallFunc](wrapped.vfs.FxSetSystemCall)(tls, real, call, address(openDirectory)); rc != 0 {
		return fmt.Errorf("SQLite keeps its own way to open a directory (%d)", rc)
	}
	name, err := libc.CString("recorded")
	if err != nil {
		return err
	}
	own := *wrapped.vfs
	own.FzName, own.FpNext = name, 0
	own.FxOpen, own.FxDelete = address(openFile), address(removeFile)
	place := libc.Xmalloc(tls, libc.Tsize_t(unsafe.Sizeof(own)))
	*at[sqlite3.Tsqlite3_vfs](place) = own
	if rc := sqlite3.Xsqlite3_vfs_register(tls, place, 1); rc != 0 {
		return fmt.Errorf("SQLite does not take another file system (%d)", rc)
	}
	return nil
}

func openFile(tls *libc.TLS, vfs, name, handle uintptr, flags int32, out uintptr) int32 {
	recorder.mu.Lock()
	defer recorder.mu.Unlock()
	rc := function[openFunc](wrapped.vfs.FxOpen)(tls, vfs, name, handle, flags, out)
	const kept = sqlite3.SQLITE_OPEN_MAIN_DB | sqlite3.SQLITE_OPEN_MAIN_JOURNAL | sqlite3.SQLITE_OPEN_WAL
	if rc != sqlite3.SQLITE_OK || name == 0 || flags&kept == 0 {
		return rc
	}
	table := &at[sqlite3.Tsqlite3_file](handle).FpMethods
	pair := wrapped.methods[*table]
	if pair == nil {
		pair = &[2]sqlite3.Tsqlite3_io_methods{*at[sqlite3.Tsqlite3_io_methods](*table), *at[sqlite3.Tsqlite3_io_methods](*table)}
		pair[1].FxWrite, pair[1].FxTruncate, pair[1].FxSync = address(writeFile), address(truncateFile), address(syncFile)
		wrapped.methods[*table] = pair
	}
	wrapped.open[handle] = file{create(libc.GoString(name)), &pair[0]}
	*table = uintptr(unsafe.Pointer(&pair[1]))
	return rc
}

func removeFile(tls *libc.TLS, vfs, name uintptr, syncDirectory int32) int32 {
	recorder.mu.Lock()
	defer recorder.mu.Unlock()
	rc := function[deleteFunc](wrapped.vfs.FxDelete)(tls, vfs, name, syncDirectory)
	if path := libc.GoString(name); rc == sqlite3.SQLITE_OK {
		note(Event{Kind: Delete, Path: path})
		delete(recorder.files, path)
	}
	syncedDirectories()
	return rc
}

func writeFile(tls *libc.TLS, handle, data uintptr, n int32, offset int64) int32 {
	recorder.mu.Lock()
	defer recorder.mu.Unlock()
	f := wrapped.open[handle]
	rc := function[writeFunc](f.methods.FxWrite)(tls, handle, data, n, offset)
	if rc == sqlite3.SQLITE_OK {
		kept := bytes.Clone(unsafe.Slice(at[byte](data), n))
		recorder.events = append(recorder.events, Event{Kind: Write, File: f.number, Offset: offset, Data: kept})
	}
	return rc
}

func truncateFile(tls *libc.TLS, handle uintptr, size int64) int32 {
	recorder.mu.Lock()
	defer recorder.mu.Unlock()
	f := wrapped.open[handle]
	rc := function[truncateFunc](f.methods.FxTruncate)(tls, handle, size)
	if rc == sqlite3.SQLITE_OK {
		recorder.events = append(recorder.events, Event{Kind: Truncate, File: f.number, Offset: size})
	}
	return rc
}

func syncFile(tls *libc.TLS, handle uintptr, flags int32) int32 {
	recorder.mu.Lock()
	defer recorder.mu.Unlock()
	f := wrapped.open[handle]
	rc := function[syncFunc](f.methods.FxSync)(tls, handle, flags)
	if rc == sqlite3.SQLITE_OK {
		recorder.events = append(recorder.events, Event{Kind: Sync, File: f.number})
	}
	syncedDirectories()
	return rc
}

// openDirectory is called only by the real sync and the real remove, which then sync the directory.
func openDirectory(tls *libc.TLS, name, fd uintptr) int32 {
	rc := wrapped.openDirectory(tls, name, fd)
	if rc == sqlite3.SQLITE_OK {
		wrapped.directories = append(wrapped.directories, filepath.Dir(libc.GoString(name)))
	}
	return rc
}

func syncedDirectories() {
	for _, dir := range wrapped.directories {
		note(Event{Kind: SyncDirectory, Path: dir})
	}
	wrapped.directories = nil
}

// at returns what is at an address of C's memory.
func at[T any](address uintptr) *T { return *(**T)(unsafe.Pointer(&address)) }

// function returns the function at an address, and address that of a function that is not a closure.
func function[F any](address uintptr) F {
	f := struct{ uintptr }{address}
	return *(*F)(unsafe.Pointer(&f))
}

func address(f any) uintptr { return (*[2]uintptr)(unsafe.Pointer(&f))[1] }
