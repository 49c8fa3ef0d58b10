//! The models of a server that are not served.

use serde::Deserialize;

use super::{ClientError, HttpClient};

/// The reasons for models that were unloaded, and for models that were not requested.
const UNLOADED: [&str; 2] = ["unloaded", "not loaded"];

/// A model in the index of a server.
#[derive(Deserialize)]
struct ToldEntry {
    name: String,
    #[serde(default)]
    reason: String,
}

impl HttpClient {
    /// Returns the models that are not served, or not in their newest form, each with the reason.
    /// Models that were unloaded or not requested are left out.
    ///
    /// # Errors
    /// Returns an error if the connection fails, or if the server refuses or sends an invalid
    /// answer.
    pub fn not_served(&mut self) -> Result<Vec<(String, String)>, ClientError> {
        let start = self.begin("POST", "/v2/repository/index");
        let request = start.map(|start| format!("{start}content-length: 0\r\n\r\n"));
        let answer = request.and_then(|request| self.sent(&request));
        let answer = self.accepted(answer)?;
        let listed: Result<Vec<ToldEntry>, _> = serde_json::from_slice(&answer.body);
        let listed = listed.map_err(|e| self.foreign(e.to_string()))?.into_iter();
        let has_reason =
            |entry: &ToldEntry| !entry.reason.is_empty() && !UNLOADED.contains(&&*entry.reason);
        let listed = listed.filter(has_reason);
        Ok(listed.map(|entry| (entry.name, entry.reason)).collect())
    }
}
