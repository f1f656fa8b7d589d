-- What lines of the history mean, where somebody has searched for it: no turn writes here.
CREATE TABLE line_vectors (
    line   INTEGER PRIMARY KEY,                   -- id of `lines`, which an edited line gets anew
    model  TEXT NOT NULL,                         -- what made the vector
    vector BLOB NOT NULL                          -- as in `memories`; empty for a text that the model does not take
);

CREATE TRIGGER line_vector_gone AFTER DELETE ON lines BEGIN
    DELETE FROM line_vectors WHERE line = OLD.id;
END;
