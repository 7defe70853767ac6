//! Searching keys.

use std::sync::Arc;

use axum::{extract::State, response::Response};
use http::StatusCode;
use serde::Serialize;
use utoipa::ToSchema;

use super::keys::ApiKey;
use crate::{
    app::App,
    reply::{Refused, json},
    request::{BodyError, Members},
    server::{Body, ErrorBody, Identity},
    store::{Search, Sort, SortBy, Status},
};

const DEFAULT_LIMIT: i64 = 50;
const LARGEST_LIMIT: i64 = 100;

/// What to look for.
#[derive(ToSchema)]
#[allow(dead_code)] // the schema of what `Query::read` reads
pub(crate) struct SearchApiKeysRequest {
    filters: Option<SearchFilters>,
    sort: Option<SortParams>,
    pagination: Option<PaginationParams>,
}

/// Which keys.
#[derive(ToSchema)]
#[allow(dead_code)] // as above
#[schema(rename_all = "camelCase")]
pub(crate) struct SearchFilters {
    /// Only for administrators; everybody else sees their own keys.
    username: Option<String>,
    /// Those in any of these states. Without it, all.
    status: Option<Vec<StatusName>>,
    /// Ephemeral keys too.
    include_ephemeral: Option<bool>,
}

/// The state of a key.
#[derive(ToSchema)]
#[allow(dead_code)] // as above
#[schema(as = Status, rename_all = "lowercase")]
pub(crate) enum StatusName {
    Active,
    Revoked,
    Expired,
}

/// A field to order by.
#[derive(ToSchema)]
#[allow(dead_code)] // as above
#[schema(as = SortBy, rename_all = "snake_case")]
pub(crate) enum SortByName {
    CreatedAt,
    ExpiresAt,
    LastUsedAt,
    Name,
}

/// From low to high, or from high to low.
#[derive(ToSchema)]
#[allow(dead_code)] // as above
#[schema(as = SortOrder, rename_all = "lowercase")]
pub(crate) enum SortOrderName {
    Asc,
    Desc,
}

/// In which order.
#[derive(ToSchema)]
#[allow(dead_code)] // as above
pub(crate) struct SortParams {
    by: Option<SortByName>,
    order: Option<SortOrderName>,
}

/// Which page.
#[derive(ToSchema)]
#[allow(dead_code)] // as above
pub(crate) struct PaginationParams {
    /// More than 100 counts as 100.
    #[schema(minimum = 1)]
    limit: i64,
    #[schema(minimum = 0)]
    offset: Option<i64>,
}

/// A page of keys.
#[derive(Serialize, ToSchema)]
pub(crate) struct SearchApiKeysResponse {
    /// Always `list`.
    object: &'static str,
    data: Vec<ApiKey>,
    /// Whether another page follows.
    has_more: bool,
}

/// Search keys
///
/// One's own, or everybody's for an administrator.
#[utoipa::path(post, path = "/v1/api-keys/search", tag = "api-keys", request_body = SearchApiKeysRequest, responses(
    (status = 200, description = "A page of keys.", body = SearchApiKeysResponse),
    (status = 400, description = "A filter, order or page that does not exist.", body = ErrorBody),
    (status = 403, description = "Somebody else's keys.", body = ErrorBody),
    (status = 500, description = "The database failed, or the gateway did not say who asks.", body = ErrorBody),
))]
pub(crate) async fn search(
    State(app): State<Arc<App>>,
    identity: Identity,
    Body(body): Body,
) -> Result<Response, Refused> {
    let query = Query::read(&body).map_err(|error| Refused::bad_request(error.to_string()))?;
    let statuses = query.statuses()?;
    let username = match (is_admin(&app, &identity).await?, query.username.as_str()) {
        (true, "") => None,
        (true, other) => Some(other.to_owned()),
        (false, name) if name.is_empty() || name == identity.username => Some(identity.username.clone()),
        (false, _) => {
            let text = "non-admin users can only search their own API keys";
            return Err(Refused::new(StatusCode::FORBIDDEN, text));
        }
    };
    let search = Search {
        username,
        statuses,
        include_ephemeral: query.include_ephemeral,
        sort: query.sort()?,
        limit: query.limit()?,
        offset: query.offset()?,
    };
    if search.username.as_deref().is_some_and(|name| name.contains('\0')) {
        return Err(Refused::bad_request("filters.username must not contain NUL characters"));
    }
    let (found, has_more) = app
        .keys
        .search(&search)
        .await
        .map_err(|error| Refused::internal("Failed to search API keys", &error))?;
    let data = found.into_iter().map(ApiKey::from).collect();
    Ok(json(StatusCode::OK, &SearchApiKeysResponse { object: "list", data, has_more }))
}

/// Whether the caller is an administrator.
pub(super) async fn is_admin(app: &App, identity: &Identity) -> Result<bool, Refused> {
    let answer = app.admin.is_admin(identity.caller()).await;
    answer.map_err(|error| Refused::internal("Failed to check authorization", &error))
}

/// The request as it came: of the right types, but not yet of the right values. Those are checked in the order in
/// which clients know the complaints.
struct Query {
    username: String,
    status: Vec<String>,
    include_ephemeral: bool,
    /// `by` and `order`, if an order is given at all.
    sort: Option<(String, String)>,
    /// `limit` and `offset`, if a page is given at all.
    page: Option<(i64, i64)>,
}

impl Query {
    fn read(body: &[u8]) -> Result<Self, BodyError> {
        let body = Members::read("SearchAPIKeysRequest", body)?;
        let mut query = Self {
            username: String::new(),
            status: vec![],
            include_ephemeral: false,
            sort: None,
            page: None,
        };
        if let Some(filters) = body.object("filters", "SearchFilters")? {
            query.username = filters.string("username")?;
            query.status = filters.strings("status")?;
            query.include_ephemeral = filters.bool("includeEphemeral")?;
            // In the schema, but without effect.
            for field in ["createdAfter", "createdBefore", "expiresAfter", "expiresBefore", "lastUsedAfter"] {
                filters.string(field)?;
            }
            for field in ["nameContains", "descriptionContains"] {
                filters.string(field)?;
            }
            for field in ["hasExpiration", "hasBeenUsed"] {
                filters.bool(field)?;
            }
        }
        if let Some(sort) = body.object("sort", "SortParams")? {
            query.sort = Some((sort.string("by")?, sort.string("order")?));
        }
        if let Some(page) = body.object("pagination", "PaginationParams")? {
            query.page = Some((page.int("limit")?, page.int("offset")?));
        }
        Ok(query)
    }

    fn statuses(&self) -> Result<Vec<Status>, Refused> {
        let parse = |text: &String| {
            Status::parse(text.trim()).ok_or_else(|| {
                Refused::bad_request(format!("invalid status '{text}': must be active, revoked, or expired"))
            })
        };
        self.status.iter().map(parse).collect()
    }

    fn sort(&self) -> Result<Sort, Refused> {
        let (by, order) = match &self.sort {
            None => return Ok(Sort { by: SortBy::CreatedAt, descending: true }),
            Some((by, order)) => (by.as_str(), order.trim().to_lowercase()),
        };
        let given = match by {
            "" => None,
            by => Some(SortBy::parse(by).ok_or_else(|| {
                Refused::bad_request(
                    "invalid sort.by: must be one of: created_at, expires_at, last_used_at, name",
                )
            })?),
        };
        let descending = match (order.as_str(), given) {
            ("asc", _) => false,
            ("desc", _) => true,
            ("", Some(SortBy::CreatedAt | SortBy::Name)) => false,
            ("", _) => true,
            _ => return Err(Refused::bad_request("invalid sort.order: must be asc or desc")),
        };
        Ok(Sort { by: given.unwrap_or(SortBy::CreatedAt), descending })
    }

    fn limit(&self) -> Result<u32, Refused> {
        match self.page.map_or(DEFAULT_LIMIT, |(limit, _)| limit) {
            limit if limit < 1 => Err(Refused::bad_request("pagination.limit must be at least 1")),
            limit => Ok(u32::try_from(limit.min(LARGEST_LIMIT)).expect("between 1 and 100")),
        }
    }

    fn offset(&self) -> Result<u64, Refused> {
        let offset = self.page.map_or(0, |(_, offset)| offset);
        u64::try_from(offset).map_err(|_| Refused::bad_request("pagination.offset must be non-negative"))
    }
}
