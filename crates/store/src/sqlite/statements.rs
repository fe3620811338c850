//! Runs statements, each prepared once per connection. Must not know any.

use rusqlite::{Connection, Params, Row};

use super::failure::Step;

/// What a connection does with a statement; the rows are read by a function.
pub(super) trait Statements {
    /// Changes rows; returns their number.
    fn run(&self, sql: &str, parameters: impl Params) -> Step<usize>;

    /// Reads all rows in order, until the function returns `false`.
    fn each(
        &self,
        sql: &str,
        parameters: impl Params,
        read: impl FnMut(&Row<'_>) -> Step<bool>,
    ) -> Step<()>;

    /// All rows.
    fn all<T>(
        &self,
        sql: &str,
        parameters: impl Params,
        mut read: impl FnMut(&Row<'_>) -> Step<T>,
    ) -> Step<Vec<T>> {
        let mut all = Vec::new();
        self.each(sql, parameters, |row| {
            all.push(read(row)?);
            Ok(true)
        })?;
        Ok(all)
    }

    /// The first row, if there is any.
    fn first<T>(
        &self,
        sql: &str,
        parameters: impl Params,
        mut read: impl FnMut(&Row<'_>) -> Step<T>,
    ) -> Step<Option<T>> {
        let mut first = None;
        self.each(sql, parameters, |row| {
            first = Some(read(row)?);
            Ok(false)
        })?;
        Ok(first)
    }

    /// The only row of a statement that always has one.
    fn one<T>(
        &self,
        sql: &str,
        parameters: impl Params,
        read: impl FnMut(&Row<'_>) -> Step<T>,
    ) -> Step<T> {
        self.first(sql, parameters, read)?
            .ok_or_else(|| rusqlite::Error::QueryReturnedNoRows.into())
    }
}

impl Statements for Connection {
    fn run(&self, sql: &str, parameters: impl Params) -> Step<usize> {
        Ok(self.prepare_cached(sql)?.execute(parameters)?)
    }

    fn each(
        &self,
        sql: &str,
        parameters: impl Params,
        mut read: impl FnMut(&Row<'_>) -> Step<bool>,
    ) -> Step<()> {
        let mut statement = self.prepare_cached(sql)?;
        let mut found = statement.query(parameters)?;
        while let Some(row) = found.next()? {
            if !read(row)? {
                break;
            }
        }
        Ok(())
    }
}
