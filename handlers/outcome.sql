-- What the handler "outcome" writes to.

CREATE TABLE payment (
    payment_no bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    request_no text NOT NULL,
    amount     numeric NOT NULL
);

CREATE TABLE reply (
    request_no  text NOT NULL,
    answer      text,
    answered_at timestamptz NOT NULL DEFAULT now()
);
