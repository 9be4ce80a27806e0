-- What the handler "stock" writes to.

CREATE TABLE IF NOT EXISTS stock (
    sku      text PRIMARY KEY,
    quantity integer NOT NULL CHECK (quantity >= 0)
);

CREATE TABLE reservation (
    reservation_no text PRIMARY KEY,
    sku            text NOT NULL REFERENCES stock,
    quantity       integer NOT NULL CHECK (quantity > 0)
);
