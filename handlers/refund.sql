-- What the handler "refund" writes to. The constraints are its rules: a refund
-- that breaks one fails, alone.

CREATE TABLE orders (
    order_no text PRIMARY KEY,
    paid     numeric NOT NULL,
    refunded numeric NOT NULL DEFAULT 0,
    CHECK (refunded <= paid)
);

CREATE TABLE IF NOT EXISTS stock (
    sku      text PRIMARY KEY,
    quantity integer NOT NULL CHECK (quantity >= 0)
);

CREATE TABLE refund (
    refund_no text PRIMARY KEY,
    order_no  text NOT NULL REFERENCES orders,
    sku       text NOT NULL REFERENCES stock,
    quantity  integer NOT NULL CHECK (quantity > 0),
    amount    numeric NOT NULL CHECK (amount > 0),
    currency  text NOT NULL
);
