"""Runs scripts in forked processes, so that the packages that they share are imported only once.

    forks.py serve SOCKET MODULE…          imports the modules and waits for requests
    forks.py run SOCKET SCRIPT ARGUMENT…   runs a script, and ends as the script does

Each script has a process of its own, and the limits of the server's process. The client passes its standard error. A
script whose client is killed is killed, too. The client imports only modules that load quickly.
"""

import os
import signal
import socket
import sys


def serve(path: str, modules: list[str]) -> None:
    """Accepts requests until standard input ends."""
    import importlib
    import select

    for module in modules:
        importlib.import_module(module)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(64)
    print("ready", flush=True)
    while True:
        ready, _, _ = select.select([listener, sys.stdin], [], [])
        if sys.stdin in ready:
            return
        connection, _ = listener.accept()
        if os.fork() == 0:
            listener.close()
            answer(connection)
        connection.close()


def answer(connection: socket.socket) -> None:
    """Runs one script in another process, reports how it ended, and exits."""
    import select

    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    request, errors, _, _ = socket.recv_fds(connection, 1 << 16, 1)
    script = os.fork()
    if script == 0:
        connection.close()
        nothing = os.open(os.devnull, os.O_RDWR)
        for own, number in [(nothing, 0), (nothing, 1), (errors[0], 2)]:
            os.dup2(own, number)
        run_script(request.decode().split("\0"))
    process = os.pidfd_open(script)
    ready, _, _ = select.select([connection, process], [], [])
    if process not in ready:
        os.kill(script, signal.SIGKILL)
    _, status = os.waitpid(script, 0)
    try:
        connection.sendall(str(os.waitstatus_to_exitcode(status)).encode())
    except BrokenPipeError:
        pass
    os._exit(0)


def run_script(arguments: list[str]) -> None:
    """Runs a script as `python SCRIPT` would, and exits."""
    import runpy
    import traceback

    sys.argv = arguments
    status = 0
    try:
        runpy.run_path(arguments[0], run_name="__main__")
    except SystemExit as exit:
        status = exit.code if isinstance(exit.code, int) else int(exit.code is not None)
    except BaseException:
        traceback.print_exc()
        status = 1
    sys.stderr.flush()
    os._exit(status)


def run(path: str, arguments: list[str]) -> None:
    """Asks the server to run a script, and ends with its status or signal."""
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(path)
    socket.send_fds(connection, ["\0".join(arguments).encode()], [2])
    status = int(connection.recv(64) or b"1")
    if status < 0:
        os.kill(os.getpid(), -status)
    sys.exit(status)


if __name__ == "__main__":
    role, path, *more = sys.argv[1:]
    if role == "serve":
        serve(path, more)
    else:
        run(path, more)
