"""Load on `okl serve` from a second process: ratios and counts for benchmarks/serve.md. Standard library only.

    python3 benchmarks/serve.py target/release/okl [ROWS]
    python3 benchmarks/serve.py target/release/okl predict [ROUNDS]
    python3 benchmarks/serve.py target/release/okl memory [ROWS]

1. Durable learning in batches of 100 rows with 32 requests in flight, against `okl learn` on the same rows.
2. The time of predicting one row while the model learns, against the time while it does not (99th percentile).
3. The memory of the server after a tenth of the rows and after all of them.

With `predict`: only 2, in rounds of one second without learning and one second with it, so that other programs disturb both alike.
With `memory`: rows of two features in batches of 1,000 to a model of 100 terms; the memory after each tenth of the rows.
"""

import http.client
import json
import multiprocessing
import os
import random
import subprocess
import sys
import tempfile
import threading
import time

FEATURES = 20
BATCH = 100
IN_FLIGHT = 32
CONFIG = {
    "loss": "hinge",
    "kernel": "gaussian:0.05",
    "step": "constant:0.3",
    "lambda": 1e-4,
    "budget": "window:1000",
}
SETTINGS = (
    "loss = 'hinge'\nkernel = 'gaussian:0.05'\nstep = 'constant:0.3'\nlambda = 1e-4\nbudget = 'window:1000'\n"
)


def data(count):
    generator = random.Random(1)
    rows = [[round(generator.gauss(0, 1), 3) for _ in range(FEATURES)] for _ in range(count)]
    return rows, [1 if row[0] * row[1] > 0 else -1 for row in rows]


class Served:
    def __init__(self, okl, folder):
        command = [okl, "serve", folder, "--listen", "127.0.0.1:0"]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        for line in self.process.stderr:
            event = json.loads(line)
            if event["event"] == "listening":
                self.address = event["url"].split("//")[1]
                return
        raise SystemExit("the server does not start")

    def memory(self):
        with open(f"/proc/{self.process.pid}/status") as status:
            return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))


def post(connection, path, body, method="POST"):
    connection.request(method, path, body=body)
    answer = connection.getresponse()
    text = answer.read()
    if answer.status >= 300:
        raise SystemExit(text)
    return text


def send_all(address, bodies, after=None, in_flight=IN_FLIGHT):
    """Sends all bodies with `in_flight` connections; returns the seconds."""
    waiting, lock, done = iter(bodies), threading.Lock(), [0]

    def work():
        connection = http.client.HTTPConnection(address)
        while True:
            with lock:
                body = next(waiting, None)
            if body is None:
                return
            post(connection, "/v1/models/m/learn", body)
            with lock:
                done[0] += 1
                if after and done[0] == after[0]:
                    after[1]()

    start = time.perf_counter()
    threads = [threading.Thread(target=work) for _ in range(in_flight)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return time.perf_counter() - start


def take_no_processor():
    """The clients of a server are on other machines: this process runs only where a processor is idle. A nice value is not enough, because
    Linux lets a thread that runs finish its time slice of a few milliseconds."""
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))


def send_in_background(address, bodies):
    take_no_processor()
    send_all(address, bodies)


def learn_while(address, bodies, go, learned):
    """Sends the bodies again and again while `go` is set; counts the answers."""
    take_no_processor()

    def work(at):
        connection = http.client.HTTPConnection(address)
        while True:
            go.wait()
            post(connection, "/v1/models/m/learn", bodies[at % len(bodies)])
            at += IN_FLIGHT
            with learned.get_lock():
                learned.value += 1

    for at in range(IN_FLIGHT):
        threading.Thread(target=work, args=(at,), daemon=True).start()
    threading.Event().wait()


def predict_run(okl, rounds):
    rows, targets = data(20_000)
    cut = range(0, len(rows), BATCH)
    bodies = [
        json.dumps({"rows": rows[i : i + BATCH], "targets": targets[i : i + BATCH]}).encode() for i in cut
    ]
    one, ratios, all_times, load = json.dumps({"rows": rows[:1]}), [], ([], []), os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder:
        served = Served(okl, os.path.join(folder, "models"))
        go, learned = multiprocessing.Event(), multiprocessing.Value("l", 0)
        learner = multiprocessing.Process(
            target=learn_while, args=(served.address, bodies, go, learned), daemon=True
        )
        try:
            connection = http.client.HTTPConnection(served.address)
            post(connection, "/v1/models/m", json.dumps({"config": CONFIG}), "PUT")
            send_all(served.address, bodies[:50])
            connection = open_connection(served.address, one)
            learner.start()
            for _ in range(rounds):
                times = ([], [])
                for busy in (0, 1):
                    (go.set if busy else go.clear)()
                    time.sleep(0.2)
                    end = time.perf_counter() + 1
                    while time.perf_counter() < end:
                        times[busy].extend(predict_times(connection, one, 500))
                    all_times[busy].extend(times[busy])
                ratios.append(percentile(times[1], 0.99) / percentile(times[0], 0.99))
            go.clear()
        finally:
            learner.terminate()
            served.process.terminate()
            served.process.wait()
    p99, median = ([1000 * percentile(times, share) for times in all_times] for share in (0.99, 0.5))
    ratios.sort()
    print(
        f"| {time.strftime('%F')} | {rounds} | {median[0]:.2f}, {median[1]:.2f} | {p99[0]:.2f}, {p99[1]:.2f} | {p99[1] / p99[0]:.1f} | "
        f"{ratios[len(ratios) // 2]:.1f} ({ratios[0]:.1f} to {ratios[-1]:.1f}) | {BATCH * learned.value / rounds / 1.2:.0f} | {load:.1f} |"
    )


def percentile(times, share):
    return sorted(times)[int(share * (len(times) - 1))]


def open_connection(address, body):
    """A connection that is open on both sides: neither its opening nor its first prediction is measured."""
    connection = http.client.HTTPConnection(address)
    post(connection, "/v1/models/m/predict", body)
    return connection


def predict_times(connection, body, count):
    times = []
    for _ in range(count):
        start = time.perf_counter()
        post(connection, "/v1/models/m/predict", body)
        times.append(time.perf_counter() - start)
    return times


def sync_time(folder):
    """The median time of writing and syncing 4 kB."""
    times = []
    with open(os.path.join(folder, "sync"), "wb") as file:
        for _ in range(50):
            file.write(b"x" * 4096)
            file.flush()
            start = time.perf_counter()
            os.fdatasync(file.fileno())
            times.append(time.perf_counter() - start)
    return percentile(times, 0.5)


def memory_run(okl, count):
    generator = random.Random(1)
    config = {**CONFIG, "kernel": "gaussian:1", "budget": "window:100"}
    with tempfile.TemporaryDirectory() as folder:
        served = Served(okl, os.path.join(folder, "models"))
        try:
            connection = http.client.HTTPConnection(served.address)
            post(connection, "/v1/models/m", json.dumps({"config": config}), "PUT")
            # The same hundred bodies again and again, so that the client needs no time to make them.
            rows = [
                [[round(generator.gauss(0, 1), 2) for _ in range(2)] for _ in range(1000)] for _ in range(100)
            ]
            bodies = [
                json.dumps({"rows": part, "targets": [1 if a * b > 0 else -1 for a, b in part]}).encode()
                for part in rows
            ]
            requests, memory = count // 1000, []
            for tenth in range(10):
                send_all(served.address, (bodies[i % 100] for i in range(requests // 10)), in_flight=4)
                memory.append(served.memory())
                print(f"{(tenth + 1) * count // 10} rows: {memory[-1]} kB", flush=True)
            journal = sum(
                os.path.getsize(os.path.join(at, name)) for at, _, names in os.walk(folder) for name in names
            )
        finally:
            served.process.terminate()
            served.process.wait()
    ratios = ", ".join(f"{kb / memory[0]:.2f}" for kb in memory)
    print(f"| {time.strftime('%F')} | {count} | {ratios} | {journal / 1e6:.0f} MB |")


def main():
    if sys.argv[2:3] == ["memory"]:
        return memory_run(sys.argv[1], int(sys.argv[3]) if len(sys.argv) > 3 else 10_000_000)
    if sys.argv[2:3] == ["predict"]:
        return predict_run(sys.argv[1], int(sys.argv[3]) if len(sys.argv) > 3 else 10)
    okl, count = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 100_000
    rows, targets = data(count)
    with tempfile.TemporaryDirectory() as folder:
        table, config = os.path.join(folder, "rows.csv"), os.path.join(folder, "okl.toml")
        with open(table, "w") as file:
            file.write(",".join([*(f"x{i}" for i in range(FEATURES)), "y"]) + "\n")
            file.writelines(",".join(map(str, [*row, y])) + "\n" for row, y in zip(rows, targets))
        with open(config, "w") as file:
            file.write(SETTINGS)
        start = time.perf_counter()
        command = [okl, "learn", table, "--target", "y", "--task", "classes", "--config", config, "--quiet"]
        subprocess.run(
            [*command, "-o", os.path.join(folder, "m.okl")],
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        plain = time.perf_counter() - start
        cut = range(0, count, BATCH)
        bodies = [
            json.dumps({"rows": rows[i : i + BATCH], "targets": targets[i : i + BATCH]}).encode() for i in cut
        ]
        served = Served(okl, os.path.join(folder, "models"))
        try:
            connection = http.client.HTTPConnection(served.address)
            post(connection, "/v1/models/m", json.dumps({"config": CONFIG}), "PUT")
            memory = []
            over_http = send_all(
                served.address, bodies, (len(bodies) // 10, lambda: memory.append(served.memory()))
            )
            memory.append(served.memory())
            one = json.dumps({"rows": rows[:1]})
            connection = open_connection(served.address, one)
            predict_times(connection, one, 200)
            idle = predict_times(connection, one, 2000)
            learner = multiprocessing.Process(
                target=send_in_background, args=(served.address, bodies[: len(bodies) // 2])
            )
            learner.start()
            busy = []
            while learner.is_alive():
                busy += predict_times(connection, one, 50)
            learner.join()
        finally:
            served.process.terminate()
            served.process.wait()
        print(
            f"| {time.strftime('%F')} | {count} | {plain / over_http:.2f} | {1000 * sync_time(folder):.2f} | "
            f"{percentile(busy, 0.99) / percentile(idle, 0.99):.1f} | {memory[1] / memory[0]:.2f} |"
        )


main()
