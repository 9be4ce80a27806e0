-- Something to refund: docker-compose.yml's example order and goods.
INSERT INTO orders (order_no, paid) VALUES ('4711', 100.00);
INSERT INTO stock (sku, quantity) VALUES ('A-1', 10);
