"""The tests of the shop. A sandbox plays the payment service while they run, so they need no network and no secret:

    python3 -m unittest discover -s examples/python

The sandbox belongs to this process. Each test has a number of its own, so that none sees what another one left.
"""

import itertools
import unittest
import urllib.request

from shop import Lost, Refused, Service, Shop
from till import sandbox

CREATE = "POST /api/merchant_withdrawal/create"
ADDRESS = "bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq"
numbers = itertools.count(1001)
service = None


def setUpModule():
    global service
    service = Service(*unittest.enterModuleContext(sandbox()))


class ShopTest(unittest.TestCase):
    def setUp(self):
        self.number = next(numbers)  # of an order or a refund
        self.shop = Shop(service)
        self.addCleanup(self.shop.close)

    def sandbox(self, method, path, body=None, **query):
        """Do what a customer, the service or a broken network would do."""
        return service.call(method, path, body, **query)

    def received(self, call, field, value):
        """Return the bodies of the calls with this value that reached the service."""
        log = self.sandbox("GET", "/sandbox/requests", on=call, match=f"{field}={value}")
        return [call["body"] for call in log["requests"]]

    def break_next(self, call, field, value, fault):
        match = {field: str(value)}
        self.sandbox("POST", "/sandbox/faults", {"on": call, "match": match, "do": fault, "times": 1})


class Checkout(ShopTest):
    def test_the_invoice_has_the_order(self):
        self.shop.order(self.number, 2950)
        [sent] = self.received("POST /api/invoice", "order_id", self.number)
        self.assertEqual((sent["order_id"], sent["items"][0]["amount"]), (str(self.number), "2950"))

    def test_an_unpaid_order_waits(self):
        self.shop.order(self.number, 2950)
        self.assertEqual(self.shop.settle(self.number), "waiting")

    def test_a_customer_who_pays_on_the_page_comes_back_to_a_shipped_order(self):
        page = self.shop.order(self.number, 2950)
        with urllib.request.urlopen(page) as answer:
            self.assertIn("Pay 29.50 USD", answer.read().decode())
        with urllib.request.urlopen(page + "/pay", data=b"") as answer:  # the button; redirects are followed
            self.assertEqual(answer.url, self.shop.own_address + f"/thanks/{self.number}")
            self.assertEqual(answer.read().decode(), f"Order {self.number}: shipped")

    def test_an_expired_order_is_cancelled(self):
        self.shop.order(self.number, 2950)
        self.sandbox("POST", "/sandbox/expire", {"invoice": self.shop.invoices[self.number]})
        self.assertEqual(self.shop.settle(self.number), "cancelled")

    def test_a_lost_answer_does_not_make_a_second_invoice(self):
        self.break_next("POST /api/invoice", "order_id", self.number, "drop-after")
        for _ in range(2):
            with self.assertRaises(Lost):
                self.shop.order(self.number, 2950)
        self.assertEqual(len(self.received("POST /api/invoice", "order_id", self.number)), 1)

    def test_an_order_that_was_refused_may_be_corrected(self):
        with self.assertRaises(Refused):
            self.shop.order(self.number, -1)
        self.shop.order(self.number, 2950)


class Refunds(ShopTest):
    def test_a_refund_is_paid_once(self):
        first = self.shop.refund(self.number, 15000, ADDRESS)
        self.assertEqual(self.shop.refund(self.number, 15000, ADDRESS), first)
        self.assertEqual(len(self.received(CREATE, "external_order_id", self.number)), 1)

    def test_after_a_lost_answer_the_refund_is_found_and_not_paid_again(self):
        self.break_next(CREATE, "external_order_id", self.number, "drop-after")
        withdrawal = self.shop.refund(self.number, 15000, ADDRESS)
        self.assertEqual(service.read("GET", "/api/merchant_withdrawal", id=withdrawal)["external_id"], self.number)
        self.assertEqual(len(self.received(CREATE, "external_order_id", self.number)), 1)

    def test_a_refund_that_cannot_be_found_stays_unknown(self):
        self.break_next(CREATE, "external_order_id", self.number, "drop-before")
        for _ in range(2):
            with self.assertRaises(Lost):
                self.shop.refund(self.number, 15000, ADDRESS)
        self.assertEqual(len(self.received(CREATE, "external_order_id", self.number)), 1)

    def test_reading_is_tried_again(self):
        self.shop.order(self.number, 2950)
        invoice = self.shop.invoices[self.number]
        self.break_next("GET /api/invoice", "id", invoice, "status=503")
        self.assertEqual(self.shop.settle(self.number), "waiting")
        self.assertEqual(len(self.received("GET /api/invoice", "id", invoice)), 2)

    def test_the_customer_is_told_once_however_often_the_callback_comes(self):
        withdrawal = self.shop.refund(self.number, 15000, ADDRESS)
        self.sandbox("POST", "/sandbox/advance", {"withdrawal": withdrawal, "status": "Processing"})
        last = self.sandbox("POST", "/sandbox/advance", {"withdrawal": withdrawal, "status": "Completed"})
        again = self.sandbox("POST", "/sandbox/callbacks/resend", {"id": last["delivery"]["id"]})
        self.assertEqual(again["state"], "delivered")
        self.assertEqual(self.shop.thanked, [self.number])


if __name__ == "__main__":
    unittest.main()
