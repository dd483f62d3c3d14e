"""A small shop, as something to test: it sells with invoices, and pays refunds with withdrawals.

The rule for everything that moves money: note the number first, send once, and never send again. If the answer is
lost, the payment may exist, so the shop looks for it instead of repeating the call.

Only the standard library is used. A real shop keeps what is in the dictionaries in its database.
"""

import http.client
import itertools
import json
import threading
import urllib.error
import urllib.parse
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Refused(Exception):
    """The service said no, so nothing was made."""


class Lost(Exception):
    """There was no usable answer, so it is unknown whether something was made."""


class Service:
    """The payment service at an address, with an API key."""

    def __init__(self, address, key, timeout=10):
        self.address, self.key, self.timeout = address, key, timeout

    def call(self, method, path, body=None, **query):
        """Make one call. Return the decoded answer, or raise Refused or Lost."""
        address = self.address + path + ("?" + urllib.parse.urlencode(query) if query else "")
        headers = {"Authorization": "Bearer " + self.key, "Content-Type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(address, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=self.timeout) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            with error:
                if 400 <= error.code < 500:
                    raise Refused(f"{error.code}: {error.read().decode(errors='replace')}") from error
                raise Lost(f"the service answered {error.code}") from error
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise Lost(str(error)) from error

    def read(self, method, path, body=None, **query):
        """Make a call that changes nothing, so it may be repeated: up to three times."""
        for attempt in range(3):
            try:
                return self.call(method, path, body, **query)
            except Lost:
                if attempt == 2:
                    raise


class Shop:
    """Orders and refunds by their numbers. The shop listens on own_address for customers and callbacks."""

    def __init__(self, service):
        self.service = service
        self.invoices = {}  # order number: invoice id, or None while that is unknown
        self.refunds = {}  # refund number: withdrawal id, or None while that is unknown
        self.thanked = []  # the refunds of which customers were told, each once
        self.lock = threading.Lock()
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), handler(self))
        self.own_address = "http://127.0.0.1:%d" % self.server.server_port
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def order(self, number, cents):
        """Return the address of the page on which the customer pays."""
        if number not in self.invoices:
            self.invoices[number] = None
            try:
                self.invoices[number] = self.service.call("POST", "/api/invoice", {
                    "order_id": str(number),
                    "title": f"Order {number}",
                    "currency": {"Fiat": "Usd"},
                    "items": [{"name": "Coffee beans", "amount": str(cents)}],
                    "callback_url": f"{self.own_address}/thanks/{number}",
                })
            except Refused:
                del self.invoices[number]  # nothing was made: it may be corrected and tried again
                raise
        if self.invoices[number] is None:
            raise Lost(f"order {number}: it is unknown whether it has an invoice")
        return f"{self.service.address}/invoice/{self.invoices[number]}"

    def settle(self, number):
        """Return what becomes of an order: shipped, cancelled or waiting."""
        invoice = self.service.read("GET", "/api/invoice", id=self.invoices[number])
        return {"Paid": "shipped", "Expired": "cancelled"}.get(invoice["status"], "waiting")

    def refund(self, number, satoshi, address):
        """Pay a refund, once for each number. Return the id of the withdrawal."""
        with self.lock:
            first = number not in self.refunds
            self.refunds.setdefault(number, None)
        if first:
            try:
                self.refunds[number] = self.service.call("POST", "/api/merchant_withdrawal/create", {
                    "currency": {"Crypto": "Btc"},
                    "amount": {"Crypto": {"Btc": satoshi}},
                    "address": address,
                    "external_order_id": str(number),
                    "callback": f"{self.own_address}/callback",
                })
            except Refused:
                del self.refunds[number]
                raise
            except Lost:
                pass  # it may have been paid: look
        if self.refunds[number] is None:
            self.refunds[number] = self.find(number)
        if self.refunds[number] is None:
            raise Lost(f"refund {number}: it is unknown whether it was paid")
        return self.refunds[number]

    def find(self, number):
        """Look for a withdrawal on the service's list. Not finding it proves nothing: the list may be late."""
        for page in itertools.count(1):
            rows = self.service.read("POST", "/api/merchant_withdrawal/list", {"currencies": [], "tags": []},
                                     page=page, page_size=100)["page_content"]
            for withdrawal in rows:
                if withdrawal["external_order_id"] == str(number):
                    return withdrawal["id"]
            if not rows:
                return None

    def callback(self):
        """Ask for the state of every refund. A callback is a hint to do so: anybody could have posted it."""
        for number, withdrawal in list(self.refunds.items()):
            if withdrawal is None:
                continue
            status = self.service.read("GET", "/api/merchant_withdrawal", id=withdrawal)["current"]
            with self.lock:
                if status == "Completed" and number not in self.thanked:
                    self.thanked.append(number)


def handler(shop):
    """Return the handler of the shop's own pages and callbacks."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):  # the customer comes back from the payment page
            number = int(self.path.removeprefix("/thanks/"))
            self.answer(200, f"Order {number}: {shop.settle(number)}")

        def do_POST(self):  # the service reports on a withdrawal
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            try:
                shop.callback()
            except (Lost, Refused):
                self.answer(503, "try again")  # the service delivers it once more
            else:
                self.answer(200, "thank you")

        def answer(self, status, text):
            self.send_response(status)
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_):
            pass

    return Handler
